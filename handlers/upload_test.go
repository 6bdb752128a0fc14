package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/store"
)

// upload sends lines and reads the answer's.
func (s *writingServer) upload(path, body string, header ...string) (received, []UploadLine, *schema.Problem) {
	s.t.Helper()
	r := s.send(http.MethodPost, path, body, append([]string{"Content-Type", schema.TypeLines}, header...)...)
	if r.StatusCode != http.StatusOK {
		return r, nil, nil
	}
	lines, last := parseAnswer(s.t, r.body)
	return r, lines, last
}

// pour uploads a body that does not tell its length.
func (s *writingServer) pour(body io.Reader) (lines []UploadLine, last *schema.Problem, err error) {
	request, err := http.NewRequest(http.MethodPost, "http://"+s.address+"/v1/passages", body)
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Content-Type", schema.TypeLines)
	// Without s.client's bound on how long it may take.
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return nil, nil, err
	}
	answer, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	lines, last = parseAnswer(s.t, answer)
	return lines, last, err
}

// parseAnswer reads an answer: its lines, and the problem that it may end with.
func parseAnswer(t testing.TB, body []byte) (lines []UploadLine, last *schema.Problem) {
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
			last = &schema.Problem{Code: one.Code, Detail: one.Detail, Status: one.Line} // the status stands in for the line
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
	r, lines, last := s.upload("/v1/passages?refresh=wait&strict=true", body)
	want := "1 a created; 4 b created; 5  rejected not_json; 6 d rejected missing_field; 7  rejected missing_field; 8 e rejected too_long; 9  rejected line_too_long; " +
		"10 g rejected unknown_field; 11 a unchanged; 12 b replaced; 13  rejected invalid_utf8; 14  h rejected invalid_passage; 15 i created"
	if got := told(lines); got != want || last != nil {
		t.Errorf("%s\nwant %s\nand then %+v", got, want, last)
	}
	if a, b := r.Header.Get("Conclave-Accepted"), r.Header.Get("Conclave-Rejected"); a != "5" || b != "8" ||
		r.Header.Get("Conclave-Backlog") != "0" {
		t.Errorf("accepted %s, rejected %s, backlog %s", a, b, r.Header.Get("Conclave-Backlog"))
	}
	found := s.found("zebra")
	slices.Sort(found)
	if !slices.Equal(found, []string{"a", "b", "i"}) {
		t.Errorf("a search finds %v", found)
	}
	if r := s.send(http.MethodGet, "/v1/passages/b", ""); !strings.Contains(string(r.body), "zebra four") ||
		r.Header.Get("ETag") != `"`+lines[9].Version+`"` {
		t.Errorf("b is %s", r.body)
	}
	if log := s.log.String(); !strings.Contains(log, `"accepted":5,"rejected":8`) {
		t.Errorf("the log says %s", log)
	}
	metrics := s.send(http.MethodGet, "/metrics", "")
	if !strings.Contains(string(metrics.body), `conclave_writes_total{outcome="rejected"} 8`) ||
		!strings.Contains(string(metrics.body), `conclave_writes_total{outcome="created"} 3`) {
		t.Errorf("%s", metrics.body)
	}
	if r, lines, last := s.upload("/v1/passages", "\n\n"); r.StatusCode != http.StatusOK || len(lines) != 0 ||
		last != nil ||
		len(r.body) != 0 {
		t.Errorf("blank lines alone: %d %s", r.StatusCode, r.body)
	}
}

// TestUploadRefusals checks that refusals are told before anything is read.
func TestUploadRefusals(t *testing.T) {
	s := startWriting(t, writingOptions{Options: Options{Write: WriteLimits{UploadBytes: 1000}}})
	for _, c := range []struct {
		path, body, contentType string
		status                  int
	}{
		{"/v1/passages", "{}", "application/xml", 415},
		{"/v1/passages", "{}", "application/x-www-form-urlencoded", 415},
		{"/v1/passages", "{}", "", 415},
		{"/v1/passages?refresh=maybe", "{}", schema.TypeLines, 422},
		{"/v1/passages?stream=1", "{}", schema.TypeLines, 422},
		{"/v1/passages?streem=true", "{}", schema.TypeLines, 400},
		{"/v1/passages", strings.Repeat(" ", 1001), schema.TypeLines, 413},
	} {
		header := []string{}
		if c.contentType != "" {
			header = []string{"Content-Type", c.contentType}
		}
		if r := s.send(http.MethodPost, c.path, c.body, header...); r.StatusCode != c.status {
			t.Errorf("%s as %s: %d %s", c.path, c.contentType, r.StatusCode, r.body)
		}
	}
	if r := s.send(http.MethodPost, "/v1/passages", "{}", "Content-Type", schema.TypeLines, "Content-Encoding",
		"br"); r.StatusCode != 415 {
		t.Errorf("compressed: %d", r.StatusCode)
	}
	if r := s.send(http.MethodPost, "/v1/passages", "{}", "Content-Type", schema.TypeLines, "Accept",
		schema.TypeJSON); r.StatusCode != 406 {
		t.Errorf("asking for JSON: %d", r.StatusCode)
	}
	if r := s.send(http.MethodPatch, "/v1/passages", ""); r.StatusCode != 405 ||
		r.Header.Get("Allow") != "DELETE, GET, HEAD, OPTIONS, POST" {
		t.Errorf("PATCH: %d, Allow %s", r.StatusCode, r.Header.Get("Allow"))
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
	lines, last, err := s.pour(io.MultiReader(strings.NewReader(body.String())))
	if err != nil {
		t.Fatal(err)
	}
	if last == nil || last.Code != "body_too_large" || len(lines) < 20 || len(lines) > 30 || last.Status != len(lines)+1 {
		t.Errorf("%d lines, then %+v", len(lines), last)
	}
	for _, l := range lines {
		if _, _, ok, err := s.live.Passage(t.Context(), l.ID, anyRoom); !ok || err != nil {
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
		if !strings.HasPrefix(out, "HTTP/1.1 200 ") || !strings.Contains(out, `"id":"`+id+`","status":"created"`) ||
			!strings.Contains(out, `"code":"`+want+`"`) ||
			!strings.Contains(out, `"line":2}`) {
			t.Errorf("%s: %q", id, out)
		}
		if _, _, ok, _ := s.live.Passage(t.Context(), id, anyRoom); !ok {
			t.Errorf("%s is not there", id)
		}
	}
	if out := s.raw(head, 20*time.Second); !strings.HasPrefix(out, "HTTP/1.1 408 ") ||
		!strings.Contains(out, "application/problem+json") {
		t.Errorf("nothing at all: %q", out)
	}
}

func (forgetful) Apply(_ context.Context, changes []store.Change) ([]store.ChangeResult, error) {
	out := make([]store.ChangeResult, len(changes))
	for i, c := range changes {
		out[i] = store.ChangeResult{ID: c.Put.ID, Outcome: store.Created, Version: "1", Seq: 1}
	}
	return out, nil
}

func (stuck) Wait(ctx context.Context, _ uint64) error { <-ctx.Done(); return ctx.Err() }

func (stuck) Backlog() store.Backlog {
	return store.Backlog{Changes: 1, Trouble: errors.New("no room for a segment")}
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
		lines, last, err := s.pour(in)
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
