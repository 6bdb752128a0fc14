package search

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
)

// writer is a generator that says what it was given.
type writer struct {
	err    error
	waits  bool
	shares []float64
}

func (w writer) Generate(
	ctx context.Context,
	question string,
	passages []corpus.Passage,
	maxTokens int,
	each func(string),
) (Generation, error) {
	if w.waits {
		<-ctx.Done()
		return Generation{}, ctx.Err()
	}
	each(question)
	shares := w.shares
	if shares == nil {
		for i := range passages {
			shares = append(shares, float64(i)) // the last most
		}
	}
	return Generation{Text: question + " of " + passages[len(passages)-1].ID, Tokens: maxTokens, Shares: shares}, w.err
}

type advice struct{}

func (advice) Error() string  { return "too much" }
func (advice) Advice() string { return "ask for less" }

func TestGenerate(t *testing.T) {
	ask := func(w writer, r Request) (Response, []string) {
		t.Helper()
		s := newStage("ab", 30)
		s.config.Readers = []LoadedReader{{Generator: w, Name: "writer"}}
		e := s.engine(t)
		var reported []string
		ctx := Watched(t.Context(), Watching{
			Found:   func(r Response) error { reported = append(reported, "found "+r.Results[0].ID); return nil },
			Written: func(text string) { reported = append(reported, text) },
		})
		response, err := e.Search(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		return response, reported
	}
	question := Request{Question: "red fox", K: 2, Answer: AnswerOptions{Wanted: true, Passages: 4}}
	r, reported := ask(writer{}, question)
	g := r.Generated
	if g == nil || g.Reader != "writer" || !g.Generated || g.Tokens != UsuallyGenerated || len(r.Results) != 2 ||
		len(g.Support) > 3 ||
		g.Support[0].Share < g.Support[len(g.Support)-1].Share {
		t.Errorf("%+v", r)
	}
	if !strings.HasSuffix(g.Text, " of "+g.Support[0].Passage) ||
		strings.Join(reported, ", ") != "found "+r.Results[0].ID+", red fox" {
		t.Errorf("%q after %q, support %+v", g.Text, reported, g.Support)
	}
	for name, c := range map[string]struct {
		w    writer
		want string
	}{
		"an error":        {writer{err: errors.New("broken")}, "it failed, so there is none"},
		"advice":          {writer{err: advice{}}, "ask for less"},
		"other shares":    {writer{shares: []float64{1}}, "it failed"},
		"out of time":     {writer{waits: true}, "it had not written an answer in time"},
		"a queue is full": {writer{err: full{}}, "its queue is full"},
	} {
		question.TimeoutMS = 0
		if c.w.waits {
			question.TimeoutMS = 400
		}
		began := time.Now()
		r, _ := ask(c.w, question)
		if r.Generated != nil || len(r.Degraded) != 1 || r.Degraded[0].Source != "writer" ||
			!strings.Contains(r.Degraded[0].Reason, c.want) ||
			len(r.Results) != 2 {
			t.Errorf("%s: %+v after %v", name, r, time.Since(began))
		}
	}
}
