package handlers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"conclave/collection"
)

// upload sends lines and reads the answer's.
func (s *writingServer) upload(path, body string, header ...string) (reply, []UploadLine, *Problem) {
	s.t.Helper()
	r := s.send(http.MethodPost, path, body, append([]string{"Content-Type", typeLines}, header...)...)
	if r.StatusCode != http.StatusOK {
		return r, nil, nil
	}
	lines, last := parseAnswer(s.t, r.body)
	return r, lines, last
}

// parseAnswer reads an answer: its lines, and the problem that it may end with.
func parseAnswer(t testing.TB, body []byte) (lines []UploadLine, last *Problem) {
	t.Helper()
	for text := range bytes.Lines(body) {
		if last != nil {
			t.Errorf("a line after the problem: %s", text)
		}
		var one struct {
			UploadLine
			Code   string `json:"code"`
			Status any    `json:"status"`
			Detail string `json:"detail"`
		}
		if err := json.Unmarshal(text, &one); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if one.Code != "" {
			last = &Problem{Code: one.Code, Detail: one.Detail, Status: one.Line} // the status stands in for the line
			continue
		}
		one.UploadLine.Status, _ = one.Status.(string)
		lines = append(lines, one.UploadLine)
	}
	return lines, last
}

func told(lines []UploadLine) string {
	var out []string
	for _, l := range lines {
		text := fmt.Sprintf("%d %s %s", l.Line, l.ID, l.Status)
		if l.Error != nil {
			text += " " + l.Error.Code
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// TestUploadLines: every line gets its answer, and a bad one stops nothing.
func TestUploadLines(t *testing.T) {
	s := startWriting(t, writingOptions{Options: Options{Write: WriteLimits{LineBytes: 2000, PassageBytes: 500, Tags: 2}}})
	body := "\xef\xbb\xbf" + `{"id":"a","text":"zebra one"}` + "\r\n" +
		"\n   \n" +
		`{"id":"b","text":"zebra two","tags":["x"]}` + "\n" +
		`{"id":"c","text":` + "\n" +
		`{"id":"d"}` + "\n" +
		`{"text":"no id"}` + "\n" +
		`{"id":"e","text":"` + strings.Repeat("x", 600) + `"}` + "\n" +
		`{"id":"f","text":"` + strings.Repeat("x", 3000) + `"}` + "\n" +
		`{"id":"g","text":"zebra","extra":1}` + "\n" +
		`{"id":"a","text":"zebra one"}` + "\n" +
		`{"id":"b","text":"zebra four"}` + "\n" +
		"{\"id\":\"h\",\"text\":\"\xff\"}\n" +
		`{"id":" h","text":"zebra"}` + "\n" +
		`{"id":"i","text":"zebra last, without an end"}`
	r, lines, last := s.upload("/v1/passages?refresh=wait", body)
	want := "1 a created; 4 b created; 5  rejected not_json; 6 d rejected missing_field; 7  rejected missing_field; 8 e rejected too_long; 9  rejected line_too_long; " +
		"10 g rejected unknown_field; 11 a unchanged; 12 b replaced; 13  rejected invalid_utf8; 14  h rejected invalid_passage; 15 i created"
	if got := told(lines); got != want || last != nil {
		t.Errorf("%s\nwant %s\nand then %+v", got, want, last)
	}
	if a, b := r.Header.Get("Conclave-Accepted"), r.Header.Get("Conclave-Rejected"); a != "5" || b != "8" || r.Header.Get("Conclave-Backlog") != "0" {
		t.Errorf("accepted %s, rejected %s, backlog %s", a, b, r.Header.Get("Conclave-Backlog"))
	}
	found := s.found("zebra")
	slices.Sort(found)
	if !slices.Equal(found, []string{"a", "b", "i"}) {
		t.Errorf("a search finds %v", found)
	}
	if r := s.send(http.MethodGet, "/v1/passages/b", ""); !strings.Contains(string(r.body), "zebra four") || r.Header.Get("ETag") != `"`+lines[9].Version+`"` {
		t.Errorf("b is %s", r.body)
	}
	if log := s.log.String(); !strings.Contains(log, `"accepted":5,"rejected":8`) {
		t.Errorf("the log says %s", log)
	}
	if metrics := s.send(http.MethodGet, "/metrics", ""); !strings.Contains(string(metrics.body), `conclave_writes_total{outcome="rejected"} 8`) || !strings.Contains(string(metrics.body), `conclave_writes_total{outcome="created"} 3`) {
		t.Errorf("%s", metrics.body)
	}
	if r, lines, last := s.upload("/v1/passages", "\n\n"); r.StatusCode != http.StatusOK || len(lines) != 0 || last != nil || len(r.body) != 0 {
		t.Errorf("blank lines alone: %d %s", r.StatusCode, r.body)
	}
}

// TestUploadRefusals are told before anything is read.
func TestUploadRefusals(t *testing.T) {
	s := startWriting(t, writingOptions{Options: Options{Write: WriteLimits{UploadBytes: 1000}}})
	for _, c := range []struct {
		path, body, contentType string
		status                  int
	}{
		{"/v1/passages", "{}", typeJSON, 415},
		{"/v1/passages", "{}", "application/x-www-form-urlencoded", 415},
		{"/v1/passages", "{}", "", 415},
		{"/v1/passages?refresh=maybe", "{}", typeLines, 422},
		{"/v1/passages?stream=1", "{}", typeLines, 422},
		{"/v1/passages?streem=true", "{}", typeLines, 400},
		{"/v1/passages", strings.Repeat(" ", 1001), typeLines, 413},
	} {
		header := []string{}
		if c.contentType != "" {
			header = []string{"Content-Type", c.contentType}
		}
		if r := s.send(http.MethodPost, c.path, c.body, header...); r.StatusCode != c.status {
			t.Errorf("%s as %s: %d %s", c.path, c.contentType, r.StatusCode, r.body)
		}
	}
	if r := s.send(http.MethodPost, "/v1/passages", "{}", "Content-Type", typeLines, "Content-Encoding", "gzip"); r.StatusCode != 415 {
		t.Errorf("compressed: %d", r.StatusCode)
	}
	if r := s.send(http.MethodPost, "/v1/passages", "{}", "Content-Type", typeLines, "Accept", typeJSON); r.StatusCode != 406 {
		t.Errorf("asking for JSON: %d", r.StatusCode)
	}
	if r := s.send(http.MethodGet, "/v1/passages", ""); r.StatusCode != 405 || r.Header.Get("Allow") != "OPTIONS, POST" {
		t.Errorf("GET: %d, Allow %s", r.StatusCode, r.Header.Get("Allow"))
	}
}

// TestUploadTooLarge stores what came before the limit of a body that does not
// tell its length, and says where it ended.
func TestUploadTooLarge(t *testing.T) {
	s := startWriting(t, writingOptions{Options: Options{Write: WriteLimits{UploadBytes: 1000}}})
	var body strings.Builder
	for i := range 100 {
		fmt.Fprintf(&body, "{\"id\":\"p%d\",\"text\":\"zebra number %d\"}\n", i, i)
	}
	request, err := http.NewRequest(http.MethodPost, "http://"+s.address+"/v1/passages", io.MultiReader(strings.NewReader(body.String())))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", typeLines)
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	lines, last := parseAnswer(t, answer)
	if last == nil || last.Code != "body_too_large" || len(lines) < 20 || len(lines) > 30 || last.Status != len(lines)+1 {
		t.Errorf("%d lines, then %+v", len(lines), last)
	}
	for _, l := range lines {
		if _, _, ok, err := s.live.Passage(l.ID); !ok || err != nil {
			t.Errorf("%s was acknowledged and is not there: %v", l.ID, err)
		}
	}
}

// TestUploadBreaksOff: what was read of a body that ends early, or stops, is
// stored and told.
func TestUploadBreaksOff(t *testing.T) {
	s := startWriting(t, writingOptions{})
	const head = "POST /v1/passages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: 10000\r\n\r\n"
	line := `{"id":"ID","text":"zebra"}` + "\n"
	ask := func(id string, closing bool) string {
		c, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = io.WriteString(c, head+strings.ReplaceAll(line, "ID", id)+`{"id":"half`)
		if closing {
			_ = c.(*net.TCPConn).CloseWrite()
		}
		out, _ := io.ReadAll(c)
		// The server may ask with it whether somebody is still there.
		return strings.ReplaceAll(string(out), "HTTP/1.1 100 Continue\r\n\r\n", "")
	}
	for id, want := range map[string]string{"stops": "slow_request", "ends": "incomplete_body"} {
		out := ask(id, id == "ends")
		if !strings.HasPrefix(out, "HTTP/1.1 200 ") || !strings.Contains(out, `"id":"`+id+`","status":"created"`) || !strings.Contains(out, `"code":"`+want+`"`) || !strings.Contains(out, `"line":2}`) {
			t.Errorf("%s: %q", id, out)
		}
		if _, _, ok, _ := s.live.Passage(id); !ok {
			t.Errorf("%s is not there", id)
		}
	}
	if out := s.raw(head, 20*time.Second); !strings.HasPrefix(out, "HTTP/1.1 408 ") || !strings.Contains(out, "application/problem+json") {
		t.Errorf("nothing at all: %q", out)
	}
}

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
			request.Header.Set("Content-Type", typeLines)
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
			if _, _, ok, _ := s.live.Passage("l0"); !ok {
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

// TestUploadSendsFirst is a client that sends everything before it reads
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
	_, _ = fmt.Fprintf(c, "POST /v1/passages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n", len(body))
	if _, err := c.Write(body); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.ContentLength != int64(len(answer)) || len(answer) < 10<<20 {
		t.Fatalf("%d bytes of %d, %v", len(answer), response.ContentLength, err)
	}
	checkBulk(t, s, answer, bulkLines)
}

// TestUploadAnswerTooLarge ends an upload whose answer would not fit; what was
// answered is stored, what was not is not.
func TestUploadAnswerTooLarge(t *testing.T) {
	dir := t.TempDir()
	s := startWriting(t, writingOptions{Options: Options{TempDir: dir, Write: WriteLimits{AnswerBytes: 400 << 10}}, live: collection.LiveOptions{FlushAfter: time.Hour, FlushPassages: 1 << 20}})
	var body strings.Builder
	const n = 20_000
	for i := range n {
		fmt.Fprintf(&body, "{\"id\":\"%d\",\"text\":\"zebra\"}\n", i)
	}
	_, lines, last := s.upload("/v1/passages", body.String())
	if last == nil || last.Code != "answer_too_large" || last.Status != len(lines)+1 || len(lines) < 1000 || len(lines) > n-1000 {
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

// TestUploadMemory sends 100 MB, and looks how much of it is in memory at the
// most.
func TestUploadMemory(t *testing.T) {
	s := startWriting(t, writingOptions{live: collection.LiveOptions{FlushAfter: time.Hour, FlushPassages: 1 << 20}, wrap: func(w Writer) Writer { return forgetful{w} }})
	body, send := io.Pipe()
	const lines = 1000
	go func() {
		rest := `,"text":"` + strings.Repeat("zebra ", 17_000) + "\"}\n" // 100 kB
		for i := range lines {
			if _, err := fmt.Fprintf(send, "{\"id\":\"%d\"%s", i, rest); err != nil {
				return
			}
		}
		_ = send.Close()
	}()
	var highest atomic.Uint64
	ctx, stop := context.WithCancel(t.Context())
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		for ctx.Err() == nil {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			highest.Store(max(highest.Load(), m.HeapInuse))
			time.Sleep(20 * time.Millisecond)
		}
	}()
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	request, err := http.NewRequest(http.MethodPost, "http://"+s.address+"/v1/passages", body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", typeLines)
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	stop()
	<-looked
	if got, _ := parseAnswer(t, answer); err != nil || len(got) != lines {
		t.Errorf("%d lines, %v", len(got), err)
	}
	grown := int64(highest.Load()) - int64(before.HeapInuse)
	t.Logf("100 MB came in, the heap grew by %d MB at the most", grown>>20)
	if grown > 40<<20 {
		t.Errorf("the heap grew by %d MB", grown>>20)
	}
}

// forgetful acknowledges everything and stores nothing.
type forgetful struct{ Writer }

func (forgetful) Apply(_ context.Context, changes []collection.Change) ([]collection.Result, error) {
	out := make([]collection.Result, len(changes))
	for i, c := range changes {
		out[i] = collection.Result{ID: c.Put.ID, Outcome: collection.Created, Version: "1", Seq: 1}
	}
	return out, nil
}

// TestUploadHoldsBack: while storing stands still, the client cannot go on
// sending for ever.
func TestUploadHoldsBack(t *testing.T) {
	release := make(chan struct{})
	s := startWriting(t, writingOptions{wrap: func(w Writer) Writer { return slow{forgetful{w}, release} }, timeouts: []ServeOptions{{ReadTimeout: 20 * time.Second, WriteTimeout: 20 * time.Second, DrainTimeout: 5 * time.Second}}})
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
	answered := make(chan []byte, 1)
	go func() {
		request, _ := http.NewRequest(http.MethodPost, "http://"+s.address+"/v1/passages", body)
		request.Header.Set("Content-Type", typeLines)
		response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
		if err != nil {
			t.Error(err)
			answered <- nil
			return
		}
		answer, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		answered <- answer
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
	if lines, last := parseAnswer(t, <-answered); len(lines) != 500 || last != nil {
		t.Errorf("%d lines, then %+v", len(lines), last)
	}
}

// slow stores nothing before release is closed.
type slow struct {
	Writer
	release chan struct{}
}

func (s slow) Apply(ctx context.Context, changes []collection.Change) ([]collection.Result, error) {
	<-s.release
	return s.Writer.Apply(ctx, changes)
}

// full is a disk that is full after some changes.
type full struct {
	Writer
	left  *atomic.Int64
	cause error
}

func (f full) Apply(ctx context.Context, changes []collection.Change) ([]collection.Result, error) {
	if f.left.Add(-int64(len(changes))) < 0 {
		return nil, fmt.Errorf("writing the log: %w", f.cause)
	}
	return f.Writer.Apply(ctx, changes)
}

// TestStorageFull: an upload ends where the disk is full, and says so; so does
// PUT; searches go on.
func TestStorageFull(t *testing.T) {
	var left atomic.Int64
	left.Store(5000)
	cause := error(syscall.ENOSPC)
	s := startWriting(t, writingOptions{wrap: func(w Writer) Writer { return full{w, &left, cause} }})
	var body strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&body, "{\"id\":\"p%d\",\"text\":\"zebra\"}\n", i)
	}
	_, lines, last := s.upload("/v1/passages", body.String())
	if last == nil || last.Code != "storage_full" || last.Status != len(lines)+1 || len(lines) == 0 {
		t.Fatalf("%d lines, then %+v", len(lines), last)
	}
	for _, l := range lines {
		if _, _, ok, _ := s.live.Passage(l.ID); !ok {
			t.Fatalf("%s was acknowledged and is not there", l.ID)
		}
	}
	if r, _, _ := s.upload("/v1/passages", body.String()); r.StatusCode != http.StatusInsufficientStorage || r.problem(t).Code != "storage_full" {
		t.Errorf("an upload: %d %s", r.StatusCode, r.body)
	}
	for _, r := range []reply{s.put("/v1/passages/x", `{"text":"x"}`), s.send(http.MethodDelete, "/v1/passages/seed0", "")} {
		if p := r.problem(t); r.StatusCode != http.StatusInsufficientStorage || p.Code != "storage_full" {
			t.Errorf("%d %s", r.StatusCode, r.body)
		}
	}
	if found := s.found("beginning"); len(found) != 3 {
		t.Errorf("a search finds %v", found)
	}
	if r := s.send(http.MethodGet, "/v1/passages/p0", ""); r.StatusCode != http.StatusOK {
		t.Errorf("GET: %d", r.StatusCode)
	}
}

// TestLogBroken: any other trouble with the log is 503.
func TestLogBroken(t *testing.T) {
	var left atomic.Int64
	s := startWriting(t, writingOptions{wrap: func(w Writer) Writer { return full{w, &left, errors.New("an input/output error")} }})
	r := s.put("/v1/passages/x", `{"text":"x"}`)
	if p := r.problem(t); r.StatusCode != http.StatusServiceUnavailable || p.Code != "not_written" || r.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	if !strings.Contains(s.log.String(), "an input/output error") {
		t.Error("the log does not say why")
	}
}

// stuck never shows what was written.
type stuck struct{ Writer }

func (stuck) Wait(ctx context.Context, _ uint64) error { <-ctx.Done(); return ctx.Err() }
func (stuck) Backlog() collection.Backlog {
	return collection.Backlog{Changes: 1, Trouble: errors.New("no room for a segment")}
}

// TestNotVisible: who waits for searches to see a change is told when they
// cannot, and that it is stored.
func TestNotVisible(t *testing.T) {
	s := startWriting(t, writingOptions{wrap: func(w Writer) Writer { return stuck{w} }})
	r := s.put("/v1/passages/x?refresh=wait", `{"text":"x"}`)
	if p := r.problem(t); r.StatusCode != http.StatusServiceUnavailable || p.Code != "not_visible" {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	if _, lines, last := s.upload("/v1/passages?refresh=wait", `{"id":"y","text":"x"}`); len(lines) != 1 || last == nil || last.Code != "not_visible" {
		t.Errorf("%v, then %+v", lines, last)
	}
	if r := s.send(http.MethodGet, "/readyz", ""); r.StatusCode != http.StatusOK || !strings.Contains(string(r.body), "cannot be shown") {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
}

// TestUploadsAtOnce: one more than may be is told to come back.
func TestUploadsAtOnce(t *testing.T) {
	s := startWriting(t, writingOptions{Options: Options{Write: WriteLimits{Uploads: 1}}})
	body, send := io.Pipe()
	answered := make(chan int, 1)
	go func() {
		request, _ := http.NewRequest(http.MethodPost, "http://"+s.address+"/v1/passages?stream=true", body)
		request.Header.Set("Content-Type", typeLines)
		response, err := s.client.Do(request)
		if err != nil {
			t.Error(err)
			answered <- 0
			return
		}
		line := make([]byte, 8)
		_, _ = io.ReadFull(response.Body, line)
		answered <- response.StatusCode
		_, _ = io.ReadAll(response.Body)
		_ = response.Body.Close()
		answered <- 0
	}()
	_, _ = io.WriteString(send, `{"id":"a","text":"zebra"}`+"\n")
	if status := <-answered; status != http.StatusOK {
		t.Fatal(status)
	}
	if r, _, _ := s.upload("/v1/passages", `{"id":"b","text":"x"}`); r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") == "" {
		t.Errorf("a second upload: %d", r.StatusCode)
	}
	_ = send.Close()
	<-answered
	if r, _, _ := s.upload("/v1/passages", `{"id":"b","text":"x"}`); r.StatusCode != http.StatusOK {
		t.Errorf("after the first: %d", r.StatusCode)
	}
}

// TestUploadRandomly cuts valid and damaged lines into packets of any size: the
// answer does not depend on how a body arrives.
func TestUploadRandomly(t *testing.T) {
	s := startWriting(t, writingOptions{})
	rng := rand.New(rand.NewPCG(7, 8))
	for round := range 20 {
		var body []byte
		want := map[int]string{}
		ids := map[string]bool{}
		for line := 1; line <= 50; line++ {
			id := fmt.Sprintf("r%d-%d", round, rng.IntN(20))
			switch rng.IntN(4) {
			case 0:
				body = append(body, strings.Repeat("x", rng.IntN(3000))+"}\n"...)
				want[line] = "rejected"
			case 1:
				body = append(body, strings.Repeat(" ", rng.IntN(100))+"\n"...)
			default:
				body = fmt.Appendf(body, "{\"id\":%q,\"text\":\"zebra %d %s\"}\n", id, line, strings.Repeat("y", rng.IntN(5000)))
				want[line] = "created"
				if ids[id] {
					want[line] = "replaced"
				}
				ids[id] = true
			}
		}
		in, out := io.Pipe()
		go func() {
			for rest := body; len(rest) > 0; {
				n := 1 + rng.IntN(min(len(rest), 4000))
				_, _ = out.Write(rest[:n])
				rest = rest[n:]
			}
			_ = out.Close()
		}()
		request, err := http.NewRequest(http.MethodPost, "http://"+s.address+"/v1/passages", in)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", typeLines)
		response, err := s.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		lines, last := parseAnswer(t, answer)
		if err != nil || last != nil || len(lines) != len(want) {
			t.Fatalf("round %d: %d lines, want %d, %+v, %v", round, len(lines), len(want), last, err)
		}
		for _, l := range lines {
			if l.Status != want[l.Line] {
				t.Fatalf("round %d, line %d: %s, want %s", round, l.Line, l.Status, want[l.Line])
			}
		}
	}
}
