package search

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// writer is a generator that says what it was given.
type writer struct {
	err    error
	waits  bool
	shares []float64
}

func (w writer) Generate(ctx context.Context, asked learned.WriteRequest) (learned.Generation, error) {
	question, passages := asked.Question, asked.Passages
	if w.waits {
		<-ctx.Done()
		return learned.Generation{}, ctx.Err()
	}
	asked.Each(question)
	shares := w.shares
	if shares == nil {
		for i := range passages {
			shares = append(shares, float64(i)) // the last most
		}
	}
	text := question + " of " + passages[len(passages)-1].ID
	return learned.Generation{Text: text, Tokens: asked.MaxTokens, Shares: shares}, w.err
}

type advice struct{}

func (advice) Error() string  { return "too much" }
func (advice) Advice() string { return "ask for less" }

func TestGenerate(t *testing.T) {
	answerOf := func(w writer, r Request) (reply.Response, []string) {
		t.Helper()
		s := newStage("ab", 30)
		s.config.Readers = []learned.LoadedReader{{Generator: w, Name: "writer"}}
		e := s.engine(t)
		var reported []string
		caller := Caller{Watching: Watchers{
			Found:   func(r reply.Response) error { reported = append(reported, "found "+r.Results[0].ID); return nil },
			Written: func(text string) { reported = append(reported, text) },
		}}
		response, err := e.Search(t.Context(), caller, r)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		return response, reported
	}
	question := Request{Question: "red fox", K: 2, Answer: ask.AnswerOptions{Wanted: true, Passages: 4}}
	r, reported := answerOf(writer{}, question)
	g := r.Generated
	if g == nil || g.Reader != "writer" || !g.Generated || g.Tokens != learned.UsuallyGenerated || len(r.Results) != 2 ||
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
		r, _ := answerOf(c.w, question)
		if r.Generated != nil || len(r.Degraded) != 1 || r.Degraded[0].Source != "writer" ||
			!strings.Contains(r.Degraded[0].Reason, c.want) ||
			len(r.Results) != 2 {
			t.Errorf("%s: %+v after %v", name, r, time.Since(began))
		}
	}
}

// unhurried is a generator that counts how often it is asked and takes its time.
type unhurried struct {
	asked *int
	takes time.Duration
}

func (c unhurried) Generate(ctx context.Context, w learned.WriteRequest) (learned.Generation, error) {
	*c.asked++
	select {
	case <-time.After(c.takes):
	case <-ctx.Done():
		return learned.Generation{}, ctx.Err()
	}
	return learned.Generation{
		Text:      w.Question,
		Sentences: []reply.WrittenSentence{{Text: w.Question, Citations: []int{2, 1}}, {Citations: []int{2}}},
	}, nil
}

// TestNotFoundIsNotWritten: a generator is not asked where the verdict is that nothing answers, which a
// note says; elsewhere it is, beside the reader that marks, by its own name and by auto.
func TestNotFoundIsNotWritten(t *testing.T) {
	for _, c := range []struct {
		chance float64
		asked  int
	}{{.9, 1}, {.2, 1}, {.05, 0}} {
		for _, name := range []string{"local", ask.ReaderAuto} {
			s, _, _ := lateStage()
			asked := 0
			s.config.Readers = []learned.LoadedReader{{Reader: new(marker), Name: "marker"},
				{Generator: unhurried{asked: &asked}, Name: "local", Passages: 2,
					Info: learned.ReaderInfo{Generates: true, TimeoutMS: 1000}}}
			s.config.Defaults.Answerability = &learned.Answerability{
				Chance:     &doubted{confidence: c.chance},
				Thresholds: reply.Thresholds{Found: .4, Doubtful: .1},
			}
			r := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), K: 5,
				Answer: wanted(ask.AnswerOptions{Reader: name})})
			if asked != c.asked || (r.Generated != nil) != (c.asked > 0) || len(r.Results) == 0 ||
				(len(r.Answers) > 0) != (c.asked > 0) {
				t.Errorf("at %v, asked %d times: %+v beside %+v", c.chance, asked, r.Generated, r.Answers)
			}
			if notes := strings.Join(r.Notes, " "); strings.Contains(notes, "local was not asked") != (c.asked == 0) {
				t.Errorf("at %v: notes %q", c.chance, r.Notes)
			}
			if g := r.Generated; g != nil && (len(g.Citations) != 2 || g.Citations[0].Number != 1 || g.Score != 0 ||

				g.Citations[0].Passage != r.Results[0].ID || g.Citations[1].Passage != r.Results[1].ID) {
				t.Errorf("%+v beside %+v", g.Citations, r.Results)
			}
		}
	}
}

// TestWritingHasItsOwnTime: a model behind an interface writes beside the time of the search, and no
// longer than its own.
func TestWritingHasItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for takes, written := range map[time.Duration]bool{3 * time.Second: true, 9 * time.Second: false} {
			s := newStage("ab", 30)
			asked := 0
			s.config.Readers = []learned.LoadedReader{{Generator: unhurried{asked: &asked, takes: takes}, Name: "local",
				Info: learned.ReaderInfo{Generates: true, TimeoutMS: 5000}}}
			e := s.engine(t)
			request := Request{Question: "red fox", K: 2, TimeoutMS: 400, Answer: wanted(ask.AnswerOptions{})}
			r, err := e.Search(t.Context(), Caller{}, request)
			if err != nil || len(r.Results) != 2 || asked != 1 || (r.Generated != nil) != written ||
				(len(r.Degraded) == 0) != written {
				t.Errorf("it takes %v: %+v, %v", takes, r, err)
			}
			if got := WritingTime(request, e.Readers()); got != 5*time.Second {
				t.Errorf("it may write for %v", got)
			}
			if err := e.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}
