package handlers

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestAfterBadUpload: the connection of an upload that could not be read serves the next
// request, where all of the upload has come, and what comes later of another one is no
// request.
func TestAfterBadUpload(t *testing.T) {
	s := startWriting(t, writingOptions{})
	const next = "GET /v1/search?q=zebra HTTP/1.1\r\nHost: localhost\r\n\r\n"
	upload := func(header, body string, more int) string {
		return fmt.Sprintf(
			"POST /v1/passages HTTP/1.1\r\nHost: localhost\r\n%s\r\nContent-Length: %d\r\n\r\n%s",
			header,
			len(body)+more,
			body,
		)
	}
	const list = "Content-Type: application/json"
	for name, c := range map[string]struct {
		request string
		ends    bool
	}{
		"no gzip": {upload("Content-Type: application/x-ndjson\r\nContent-Encoding: gzip",
			"no gzip, and all of it", 0), false},
		"no list":            {upload(list, "0", 0), false},
		"a list that breaks": {upload(list, `[{"id":"a","text":"b"},]`, 0), false},
		"half of no list":    {upload(list, "0", len(next)), true},
		"half of a bad list": {upload(list, `[{"id":"a","text":"b"},]`, len(next)), true},
		"half of no gzip":    {upload("Content-Type: application/x-ndjson\r\nContent-Encoding: gzip", "no gzip, and half of it", len(next)), true},
		"half of a big list": {upload(list, "]"+strings.Repeat(" ", 100_000), 1000+len(next)), true},
	} {
		t.Run(name, func(t *testing.T) {
			conn := s.drip(c.request)
			defer func() { _ = conn.Close() }()
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			from := bufio.NewReader(conn)
			first, err := http.ReadResponse(from, nil)
			if err != nil {
				t.Fatal(err)
			}
			said, err := io.ReadAll(first.Body)
			if err != nil || !strings.Contains(string(said), "problem-") || first.Close != c.ends {
				t.Fatalf("%d, closing %t: %s, %v", first.StatusCode, first.Close, said, err)
			}
			for range 2 {
				_, err = io.WriteString(conn, next)
				if err != nil {
					break
				}
				var second *http.Response
				second, err = http.ReadResponse(from, nil)
				if err != nil {
					break
				}
				said, err = io.ReadAll(second.Body)
				if err != nil || second.StatusCode != http.StatusOK {
					t.Errorf("the next request: %d %s %v", second.StatusCode, said, err)
				}
			}
			if wait, ok := err.(net.Error); (err != nil) != c.ends || ok && wait.Timeout() {
				t.Errorf("the connection: %v", err)
			}
		})
	}
}
