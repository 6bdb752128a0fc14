package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.org/conclave/search/ask"
	"example.org/conclave/search/learned"
)

// rewriter is a model that makes a question of messages.
type rewriter struct {
	question string
	err      error
	takes    time.Duration
	before   *[]string
}

func (r rewriter) Rewrite(ctx context.Context, before []string, question string) (string, error) {
	*r.before = append(slices.Clone(before), question)
	select {
	case <-time.After(r.takes):
		return r.question, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// TestRewrittenMessage: what a model made of the last message is asked in its place, and the answer says so; where
// it fails, is late, or writes nothing or too much, the messages are asked as without it, and the answer says why.
func TestRewrittenMessage(t *testing.T) {
	talk := []Message{{Role: "user", Content: "tell me of foxes"}, {Role: "user", Content: "are they red?"}}
	for _, c := range []struct {
		model  rewriter
		asked  string
		reason string
	}{
		{rewriter{question: " are\nfoxes red? "}, "are foxes red?", ""},
		{rewriter{question: "are they red?"}, "", ""},
		{rewriter{question: "are foxes red?", takes: time.Second}, "are foxes red?", ""},
		{rewriter{question: "are foxes red?", takes: time.Minute}, "tell me of foxes are they red?", "it had not made a question in 1.25s"},
		{rewriter{err: errors.New("broken")}, "tell me of foxes are they red?", "broken"},
		{rewriter{err: advice{}}, "tell me of foxes are they red?", "ask for less"},
		{rewriter{}, "tell me of foxes are they red?", "has 0 bytes"},
		{rewriter{question: strings.Repeat("x", 1<<20)}, "tell me of foxes are they red?", "has 1048576 bytes"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage("ab", 30)
			var before []string
			c.model.before = &before
			calls := 0
			s.config.Readers = []learned.LoadedReader{
				{Generator: unhurried{asked: &calls}, Rewriter: c.model, Name: "local",
					Info: learned.ReaderInfo{Generates: true, TimeoutMS: 5000}},
			}
			e := s.engine(t)
			r, err := e.Search(
				t.Context(),
				Caller{},
				Request{Messages: talk, K: 2, TimeoutMS: 400, Answer: wanted(ask.AnswerOptions{})},
			)
			name := fmt.Sprintf("%.40q after %v, %v", c.model.question, c.model.takes, c.model.err)
			if err != nil || len(r.Results) != 2 ||
				!slices.Equal(before, []string{"tell me of foxes", "are they red?"}) {
				t.Fatalf("%s: %+v, %v, told %q", name, r, err, before)
			}
			if r.Question != "are they red?" || c.reason == "" && r.Asked != c.asked {
				t.Errorf("%s: of %q %q was asked", name, r.Question, r.Asked)
			}
			if (len(r.Degraded) == 0) != (c.reason == "") ||
				c.reason != "" &&
					(r.Degraded[0].Source != "local" || !strings.Contains(r.Degraded[0].Reason, c.reason)) {
				t.Errorf("%s: degraded %+v", name, r.Degraded)
			}
			if g := r.Generated; g == nil || c.asked == "are foxes red?" && g.Text != c.asked {
				t.Errorf("%s: wrote %+v", name, g)
			}
			if err := e.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
