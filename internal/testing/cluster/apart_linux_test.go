package cluster

import (
	"net"
	"os"
	"testing"
)

// TestApart: tests in a network of their own see loopback and nothing else.
func TestApart(t *testing.T) {
	if os.Getenv(apart) == "" {
		t.Skip("no network of its own")
	}
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if up := i.Flags&net.FlagUp != 0; up != (i.Flags&net.FlagLoopback != 0) {
			t.Errorf("%s: up %v", i.Name, up)
		}
	}
}
