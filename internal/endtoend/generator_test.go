package endtoend

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// asked is a case of encoder/testdata/fid: what transformers answers from passages.
type asked struct {
	Question string      `json:"question"`
	Passages [][2]string `json:"passages"`
	Greedy   []int       `json:"greedy"`
	Text     string      `json:"greedy_text"`
	Score    float64     `json:"greedy_score"`
	Shares   []float64   `json:"shares"`
}

// writerSite returns a collection of a case's passages with a generator.
func writerSite(t *testing.T) (*site, asked) {
	t.Helper()
	from := filepath.Join(testenv.Root(t), "encoder", "testdata", "fid")
	data, err := os.ReadFile(filepath.Join(from, "golden.json"))
	var golden struct{ Checkpoints map[string][]asked }
	if err == nil {
		err = json.Unmarshal(data, &golden)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := golden.Checkpoints["gated"][1]
	var lines strings.Builder
	for i, p := range c.Passages {
		line, err := json.Marshal(map[string]string{"id": fmt.Sprint("p", i), "title": p[0], "text": p[1]})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	s := newSite(
		t,
		"readers: [writer]\nsearch: {timeout: 60s}\nlimits: {timeout: 60s}\nlog: {level: info}\n",
		[]string{"first"},
		"first",
		lines.String(),
	)
	checkpoint := filepath.Join(s.dir, "checkpoint")
	if err := os.CopyFS(checkpoint, os.DirFS(filepath.Join(from, "gated"))); err != nil {
		t.Fatal(err)
	}
	zipped, err := os.Open(filepath.Join(from, "tokenizer.first.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = zipped.Close() }()
	z, err := gzip.NewReader(zipped)
	if err == nil {
		data, err = io.ReadAll(z)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(checkpoint, "tokenizer.json"), data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.command("models", "import", "checkpoint", "--out", "experts/writer", "--max-passage-tokens", "48")
	return s, c
}

// TestGeneratedAnswers: a question to a server whose generator is imported from a
// checkpoint gets the answer that transformers gives from the same passages, and says
// that it is generated and which passages it rests on; as events too, in their order.
func TestGeneratedAnswers(t *testing.T) {
	s, c := writerSite(t)
	p := s.serve("")
	body := fmt.Sprintf(
		`{"question":%q,"k":5,"answer":{"reader":"writer","passages":5,"max_tokens":%d}}`,
		c.Question,
		len(c.Greedy),
	)
	var response reply.Response
	p.get(http.MethodPost, "/v1/search", body, http.StatusOK, &response)
	compare := func(r reply.Response) {
		t.Helper()
		g := r.Generated
		if g == nil || len(r.Degraded) > 0 {
			t.Fatalf("%+v, degraded %+v", g, r.Degraded)
		}
		if g.Text != c.Text || !g.Generated || g.Reader != "writer" || g.Complete || g.Tokens != len(c.Greedy) ||
			math.Abs(g.Score-math.Exp(c.Score)) > 1e-3*math.Exp(c.Score) {
			t.Errorf("%+v, and transformers writes %q of %g", g, c.Text, math.Exp(c.Score))
		}
		if len(g.Support) != 3 || len(r.Answers) > 0 || len(r.Results) != 5 {
			t.Fatalf("%+v", r)
		}
		for i, support := range g.Support {
			var at int
			if _, err := fmt.Sscanf(support.Passage, "p%d", &at); err != nil || math.Abs(support.Share-c.Shares[at]) > 1e-4 ||
				i > 0 && support.Share > g.Support[i-1].Share {
				t.Errorf("%+v, and the shares are %v", g.Support, c.Shares)
			}
		}
	}
	compare(response)
	var batch struct{ Answers []reply.Response }
	p.get(http.MethodPost, "/v1/search/batch", `{"searches":[{"question":"bread"},`+body+`]}`, http.StatusOK, &batch)
	if len(batch.Answers) != 2 || batch.Answers[0].Generated != nil {
		t.Fatalf("%+v", batch)
	}
	compare(batch.Answers[1])

	names, datas := p.events(t, body)
	if len(names) < 3 || names[0] != "passages" || names[len(names)-1] != "response" {
		t.Fatalf("events %v", names)
	}
	var found reply.Response
	if err := json.Unmarshal([]byte(datas[0]), &found); err != nil || found.Generated != nil || len(found.Results) != 5 ||
		found.Results[0].ID != response.Results[0].ID {
		t.Errorf("%v in %s", err, datas[0])
	}
	said := ""
	for i, name := range names[1 : len(names)-1] {
		var token struct{ Text string }
		if err := json.Unmarshal([]byte(datas[i+1]), &token); err != nil || name != "token" || token.Text == "" {
			t.Errorf("%v in the event %s: %s", err, name, datas[i+1])
		}
		said += token.Text
	}
	if said != c.Text {
		t.Errorf("the tokens say %q", said)
	}
	var last reply.Response
	if err := json.Unmarshal([]byte(datas[len(datas)-1]), &last); err != nil {
		t.Fatal(err)
	}
	compare(last)

	// A request without an answer is streamed too; a wrong one is an ordinary problem.
	if names, _ := p.events(t, `{"question":"bread"}`); strings.Join(names, " ") != "passages response" {
		t.Errorf("events %v", names)
	}
	for wrong, field := range map[string]string{
		`{"reader":"nobody"}`:                     "/answer/reader",
		`{"reader":"writer","combine":"sum"}`:     "/answer/combine",
		`{"reader":"writer","min_chance":0.5}`:    "/answer/min_chance",
		`{"reader":"writer","max_tokens":100000}`: "/answer/max_tokens",
		`{"reader":"writer","passages":51}`:       "/answer/passages",
	} {
		status, answer, err := p.send(http.MethodPost, "/v1/search", `{"question":"bread","answer":`+wrong+`}`)
		if err != nil || status != http.StatusUnprocessableEntity && status != http.StatusBadRequest ||
			!strings.Contains(string(answer), field) {
			t.Errorf("%s: %d %s %v", wrong, status, answer, err)
		}
	}
	var experts struct {
		Readers []learned.ReaderInfo `json:"readers"`
	}
	p.get(http.MethodGet, "/v1/experts", "", http.StatusOK, &experts)
	if len(experts.Readers) != 1 || !experts.Readers[0].Generates || experts.Readers[0].MaxTokens["pair"] != 48 {
		t.Errorf("%+v", experts.Readers)
	}
	// Of which nobody reads anything: there are no passages to answer from, and a note says why.
	var unread reply.Response
	p.get(http.MethodPost, "/v1/search", `{"question":"ποιος φύτεψε το δέντρο","answer":true}`, http.StatusOK, &unread)
	if unread.Generated != nil || len(unread.Results) > 0 || len(unread.Notes) == 0 ||
		!strings.Contains(unread.Notes[0], "none of the question's 4 words") {
		t.Errorf("in another script: %+v", unread)
	}
	// Mostly in another script, and longer than it reads: passages without an answer, and why.
	for question, why := range map[string]string{
		"ποιος φύτεψε το δέντρο, the tree":          "other scripts",
		strings.Repeat("who planted the tree ", 20): "ask a shorter one",
	} {
		var r reply.Response
		p.get(http.MethodPost, "/v1/search", fmt.Sprintf(`{"question":%q,"answer":true}`, question), http.StatusOK, &r)
		if r.Generated != nil || len(r.Degraded) != 1 || !strings.Contains(r.Degraded[0].Reason, why) || len(r.Results) == 0 {
			t.Errorf("%s: %+v", why, r)
		}
	}
	p.gone(t, fmt.Sprintf(`{"question":%q,"answer":{"reader":"writer","passages":5,"max_tokens":256}}`, c.Question))
	p.stop()
}

// events asks for events and gives their names and data.
func (p *process) events(t *testing.T, body string) (names, datas []string) {
	t.Helper()
	answer := p.stream(t, body)
	defer func() { _ = answer.Body.Close() }()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			names = append(names, name)
		} else if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			datas = append(datas, data)
		} else if lines.Text() != "" {
			t.Fatalf("the line %q", lines.Text())
		}
	}
	if len(names) != len(datas) {
		t.Fatalf("events %v with %d data", names, len(datas))
	}
	return names, datas
}

func (p *process) stream(t *testing.T, body string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/v1/search", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("Content-Type", "application/json")
	answer, err := p.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %v", answer.StatusCode, answer.Header)
	}
	return answer
}

// gone closes the connection after the first event: the search ends as one whose caller
// has gone. A small generator may have finished before that, and is then asked again.
func (p *process) gone(t *testing.T, body string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		answer := p.stream(t, body)
		line, err := bufio.NewReader(answer.Body).ReadString('\n')
		if err != nil || line != "event: passages\n" {
			t.Fatalf("%q, %v", line, err)
		}
		_ = answer.Body.Close()
		id := answer.Header.Get("X-Request-ID")
		entry := p.logged(t, id)
		if strings.Contains(entry, "cause") {
			return
		}
	}
	t.Fatalf("the log never says that a caller has gone:\n%s", p.log.String())
}

// logged returns the log's line of a request that has ended.
func (p *process) logged(t *testing.T, id string) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		for entry := range strings.SplitSeq(p.log.String(), "\n") {
			if strings.Contains(entry, id) && strings.Contains(entry, "status") {
				return entry
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the log does not name %s:\n%s", id, p.log.String())
		}
	}
}
