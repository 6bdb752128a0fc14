package adapters_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/internal/testing/realclients"
	"example.org/conclave/search"
	"example.org/conclave/search/ask"
)

// written serves the three passages with a generator, called local, behind a scripted model.
func written(t *testing.T, model *realclients.Model, timeout time.Duration) *site {
	t.Helper()
	return serve(t, realclients.ServerOptions{Change: func(c *configs.Config) {
		key := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(key, []byte("sk-sesame\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c.Generators = []configs.Generator{
			{Name: "local", Address: model.URL, Model: "scripted", KeyFile: key, Timeout: timeout},
		}
	}})
}

const whereIsTheLamp = "who hid the lamp of the lighthouse?"

// TestWritten: a model behind an interface answers a search: its citations are the passages', sentences
// are compared with them, and it is streamed as it writes.
func TestWritten(t *testing.T) {
	model := realclients.NewModel(t)
	s := written(t, model, time.Minute)
	request := search.Request{Question: whereIsTheLamp, Answer: ask.AnswerOptions{Wanted: true, Reader: "local"}}
	model.Say("The keeper of the", " lighthouse hid the lamp [1].", " He lives in Oslo [1].")
	r := s.search(request)
	g := r.Generated
	if g == nil || g.Text != "The keeper of the lighthouse hid the lamp [1]. He lives in Oslo [1]." || !g.Complete ||
		g.Reader != "local" || len(g.Sentences) != 2 || len(g.Citations) != 1 {
		t.Fatalf("%+v, degraded %+v", g, r.Degraded)
	}
	if g.Citations[0].Passage != r.Results[0].ID || !g.Sentences[0].Supported || g.Sentences[1].Supported ||
		g.Sentences[1].Unfounded[0] != "Oslo" {
		t.Errorf("%+v", g)
	}
	if asked := model.Asked(); len(asked) != 1 || !strings.Contains(asked[0], "hid the lamp under his coat") ||
		!strings.HasSuffix(asked[0], "Question: "+whereIsTheLamp) {
		t.Errorf("the model was asked %q", asked)
	}
	model.Say("NOT ANSWERED")
	if g := s.search(request).Generated; g == nil || !g.Refused || g.Text != search.RefusedText {
		t.Errorf("%+v", g)
	}

	// A conversation comes with what was asked before.
	model.Say("Yes [1].")
	s.search(search.Request{Answer: request.Answer, Messages: []search.Message{
		{Role: "user", Content: "Tell me of the lighthouse."}, {Role: "assistant", Content: "It is high."},
		{Role: "user", Content: "who kept it?"}}})
	if asked := model.Asked(); len(asked) != 1 ||
		!strings.HasSuffix(asked[0], "What was asked before:\n- Tell me of the lighthouse.\nQuestion: who kept it?") {
		t.Errorf("the model was asked %q", asked)
	}

	goOn := make(chan struct{})
	model.Serve(func(w http.ResponseWriter, _ *http.Request) {
		realclients.WritePiece(w, "The keeper hid it [1]. The lamp", "")
		<-goOn
		realclients.WritePiece(w, " was his [1].", "stop")
	})
	events := s.events(t.Context(), request)
	for i, want := range []event{{"passages", "lamps/1"}, {"token", `{"text":"The keeper hid it [1]."}`},
		{"token", `{"text":" The lamp"}`}, {"token", `{"text":" was his"}`}, {"token", `{"text":" [1]."}`},
		{"response", `"text":"The keeper hid it [1]. The lamp was his [1]."`}} {
		if e := <-events; e.name != want.name || !strings.Contains(e.data, want.data) {
			t.Errorf("event %d: %+v, want %+v", i+1, e, want)
		}
		if i == 2 {
			close(goOn)
		}
	}
}

// TestWritingFails: whatever is wrong with the model's server, the passages come, with the reason and
// without the key; what was written before stays. When the caller goes, so does the request to the model.
func TestWritingFails(t *testing.T) {
	model := realclients.NewModel(t)
	s := written(t, model, 300*time.Millisecond)
	request := search.Request{Question: whereIsTheLamp, Answer: ask.AnswerOptions{Wanted: true, Reader: "local"}}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "with "+r.Header.Get("Authorization"), code)
		}
	}
	for name, c := range map[string]struct {
		serve  http.HandlerFunc
		reason string
		text   string // of the answer; "": there is none
	}{
		"429":  {status(http.StatusTooManyRequests), "too much to do", ""},
		"500":  {status(http.StatusInternalServerError), "failed (status 500)", ""},
		"401":  {status(http.StatusUnauthorized), "refused the key", ""},
		"slow": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "had not written an answer in time", ""},
		"wrong JSON": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"choices\": [{\"delta\": 7]\n\n")
		}, "not understood", ""},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			realclients.WritePiece(w, "The keeper hid it [1].", "")
			panic(http.ErrAbortHandler)
		}, "ends early: the model's server cannot be reached, or broke the connection", "The keeper hid it [1]."},
		"slower and slower": {func(w http.ResponseWriter, r *http.Request) {
			realclients.WritePiece(w, "The keeper hid it [1].", "")
			<-r.Context().Done()
		}, "ends early: it took longer than its timeout (300ms)", "The keeper hid it [1]."},
	} {
		model.Serve(c.serve)
		r := s.search(request)
		text := ""
		if r.Generated != nil {
			text = r.Generated.Text
			if r.Generated.Complete {
				t.Errorf("%s: it is whole: %+v", name, r.Generated)
			}
		}
		if text != c.text || len(r.Results) == 0 || len(r.Degraded) != 1 || r.Degraded[0].Source != "local" ||
			!strings.Contains(r.Degraded[0].Reason, c.reason) || strings.Contains(r.Degraded[0].Reason, "sesame") {
			t.Errorf("%s: %q, degraded %+v", name, text, r.Degraded)
		}
	}
	model.Serve(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			realclients.WritePiece(w, strings.Repeat("the lamp ", 100), "")
		}
	})
	request.Answer.MaxTokens = 10
	if g := s.search(request).Generated; g == nil || g.Complete || len(g.Text) > 2000 {
		t.Errorf("endless: %+v", g)
	}
	model.Say("The keeper hid it [1].")
	s.search(request) // from now on it is known that it writes no reasoning first
	gone := make(chan struct{})
	model.Serve(func(w http.ResponseWriter, r *http.Request) {
		realclients.WritePiece(w, "The keeper hid it [1]. He", "")
		<-r.Context().Done()
		close(gone)
	})
	ctx, leave := context.WithCancel(t.Context())
	for e := range s.events(ctx, request) {
		if e.name == "token" {
			leave()
			break
		}
	}
	leave()
	<-gone
	last := ""
	for tries := 0; !strings.Contains(last, "code=client_gone"); tries++ {
		if tries == 3000 {
			t.Fatalf("the log has no line of who left, but %s", last)
		}
		time.Sleep(10 * time.Millisecond)
		lines := strings.Split(strings.TrimSpace(s.log.String()), "\n")
		last = lines[len(lines)-1]
	}
	if strings.Contains(last, "time was over") || strings.Contains(last, "degraded") {
		t.Errorf("the log says of who left: %s", last)
	}
}

// event is a server-sent event.
type event struct{ name, data string }

// events searches and sends the events of the answer as they come.
func (s *site) events(ctx context.Context, request search.Request) <-chan event {
	s.t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/search", strings.NewReader(string(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	out := make(chan event, 100)
	go func() {
		defer close(out)
		defer func() { _ = response.Body.Close() }()
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 1<<20)
		var e event
		for lines.Scan() {
			if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				e.name = name
			}
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				e.data = data
				out <- e
			}
		}
	}()
	return out
}
