package realclients

import (
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// Flaky returns the address of a proxy for the server at url that closes the first, third, fifth … connection at once
// and passes the others on, and a counter of all connections. The proxy ends with the test.
func Flaky(tb testing.TB, url string) (address string, connections *atomic.Int32) {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = listener.Close() })
	connections = &atomic.Int32{}
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			if connections.Add(1)%2 == 1 {
				_ = from.Close()
				continue
			}
			to, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				_ = from.Close()
				continue
			}
			go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
			go func() { _, _ = io.Copy(from, to); _ = from.Close() }()
		}
	}()
	return "http://" + listener.Addr().String(), connections
}
