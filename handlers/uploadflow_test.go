package handlers

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// TestUploadStreams answers line by line: the second line is sent when the
// answer to the first is there.
func TestUploadStreams(t *testing.T) {
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(version, func(t *testing.T) {
			s := startWriting(t, writingOptions{})
			transport := &http.Transport{}
			if version == "HTTP/2.0" {
				var protocols http.Protocols
				protocols.SetUnencryptedHTTP2(true)
				transport.Protocols = &protocols
			}
			defer transport.CloseIdleConnections()
			body, send := io.Pipe()
			request, err := http.NewRequest(http.MethodPost, "http://"+s.address+"/v1/passages?stream=true&refresh=wait", body)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", schema.TypeLines)
			request.Header.Set("Accept-Encoding", "gzip") // which must not hold lines back
			first := make(chan struct{})
			go func() {
				_, _ = io.WriteString(send, `{"id":"l0","text":"zebra"}`+"\n")
				<-first
				for i := 1; i < 20; i++ {
					_, _ = fmt.Fprintf(send, "{\"id\":\"l%d\",\"text\":\"zebra\"}\n", i)
				}
				_ = send.Close()
			}()
			response, err := transport.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			if response.Proto != version || response.StatusCode != http.StatusOK {
				t.Fatalf("%s %d", response.Proto, response.StatusCode)
			}
			in := bufio.NewReader(response.Body)
			line, err := in.ReadString('\n')
			if err != nil || !strings.Contains(line, `"id":"l0","status":"created"`) {
				t.Fatalf("%q, %v", line, err)
			}
			if _, _, ok, _ := s.live.Passage(t.Context(), "l0", anyRoom); !ok {
				t.Error("the first passage is not there")
			}
			close(first)
			rest, err := io.ReadAll(in)
			if lines, last := parseAnswer(t, rest); err != nil || len(lines) != 19 || last != nil {
				t.Errorf("%d more lines, %v, %v", len(lines), last, err)
			}
			if found := s.found("zebra"); len(found) != 20 {
				t.Errorf("a search finds %d", len(found))
			}
		})
	}
}

// TestUploadSendsFirst plays a client that sends everything before it reads
// anything.
func TestUploadSendsFirst(t *testing.T) {
	s := startBulk(t)
	body := bulkBody(bulkLines)
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	_, _ = fmt.Fprintf(
		c,
		"POST /v1/passages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n",
		len(body),
	)
	if _, err := c.Write(body); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.ContentLength != int64(len(answer)) || len(answer) < 8<<20 {
		t.Fatalf("%d bytes of %d, %v", len(answer), response.ContentLength, err)
	}
	checkBulk(t, s, answer, bulkLines)
}

// TestUploadAnswerTooLarge ends an upload whose answer would not fit; what was
// answered is stored, what was not is not.
func TestUploadAnswerTooLarge(t *testing.T) {
	dir := t.TempDir()
	s := startWriting(
		t,
		writingOptions{
			Options: Options{TempDir: dir, Write: WriteLimits{AnswerBytes: 400 << 10}},
			live:    folder.LiveOptions{FlushAfter: time.Hour, FlushPassages: 1 << 20},
		},
	)
	var body strings.Builder
	const n = 20_000
	for i := range n {
		fmt.Fprintf(&body, "{\"id\":\"%d\",\"text\":\"zebra\"}\n", i)
	}
	_, lines, last := s.upload("/v1/passages", body.String())
	if last == nil || last.Code != "answer_too_large" || last.Status != len(lines)+1 || len(lines) < 1000 ||
		len(lines) > n-1000 {
		t.Fatalf("%d lines, then %+v", len(lines), last)
	}
	if b := s.live.Backlog(); b.Changes != len(lines) {
		t.Errorf("%d were stored, %d answered", b.Changes, len(lines))
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	// The bound is not for answers that are sent at once.
	if _, lines, last := s.upload("/v1/passages?stream=true", body.String()); len(lines) != n || last != nil {
		t.Errorf("streamed: %d lines, then %+v", len(lines), last)
	}
}

// forgetful acknowledges everything and stores nothing.
type forgetful struct{ Writer }

// TestUploadHoldsBack: while storing stands still, the client cannot go on
// sending for ever.
func TestUploadHoldsBack(t *testing.T) {
	release := make(chan struct{})
	s := startWriting(
		t,
		writingOptions{
			wrap: func(w Writer) Writer { return slow{forgetful{w}, release} },
			timeouts: []ServeOptions{
				{ReadTimeout: 20 * time.Second, WriteTimeout: 20 * time.Second, DrainTimeout: 5 * time.Second},
			},
		},
	)
	body, send := io.Pipe()
	var sent atomic.Int64
	line := fmt.Sprintf("{\"id\":\"a\",\"text\":%q}\n", strings.Repeat("zebra ", 17_000))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range 500 { // 50 MB
			n, err := io.WriteString(send, line)
			if err != nil {
				return
			}
			sent.Add(int64(n))
		}
		_ = send.Close()
	}()
	var lines []UploadLine
	var last *schema.Problem
	answered := make(chan error, 1)
	go func() {
		defer close(answered) // also when the answer cannot be read at all
		var err error
		lines, last, err = s.pour(body)
		answered <- err
	}()
	for before := int64(-1); before != sent.Load() || before == 0; { // until it stands still
		before = sent.Load()
		time.Sleep(300 * time.Millisecond)
	}
	if n := sent.Load(); n > 30<<20 {
		t.Errorf("%d MB were sent while nothing was stored", n>>20)
	}
	close(release)
	<-ended
	if err := <-answered; err != nil || len(lines) != 500 || last != nil {
		t.Errorf("%d lines, then %+v, %v", len(lines), last, err)
	}
}

// slow stores nothing before release is closed.
type slow struct {
	Writer
	release chan struct{}
}

func (s slow) Apply(ctx context.Context, changes []store.Change) ([]store.ChangeResult, error) {
	<-s.release
	return s.Writer.Apply(ctx, changes)
}
