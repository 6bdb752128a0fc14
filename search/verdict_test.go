package search

import (
	"context"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// TestVerdict: the chance that there is an answer is compared with the thresholds, and what was
// compared is said. A reader that read has the last word, with thresholds of its own. Where the
// verdict is that nothing is there, no words are marked.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		chance float64
		want   reply.Verdict
	}{{.9, reply.VerdictFound}, {.4, reply.VerdictFound}, {.39, reply.VerdictDoubtful},
		{.1, reply.VerdictDoubtful}, {.09, reply.VerdictNotFound}} {
		s, _, _ := lateStage()
		s.config.Readers = []learned.LoadedReader{{Reader: new(marker), Name: "marker"}}
		s.config.Defaults.Answerability = &learned.Answerability{
			Chance:     &doubted{confidence: c.chance},
			Thresholds: reply.Thresholds{Found: .4, Doubtful: .1},
		}
		request := Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), K: 5}
		r := s.ask(t, request)
		if r.Verdict != c.want || *r.Answerable != c.chance ||
			*r.Thresholds != (reply.Thresholds{Found: .4, Doubtful: .1}) ||
			len(r.Notes) > 0 {
			t.Errorf("at %v: %q by %+v, notes %q", c.chance, r.Verdict, r.Judged, r.Notes)
		}
		request.Answer = wanted(ask.AnswerOptions{})
		if r := s.ask(t, request); r.Answers == nil || (len(r.Answers) == 0) != (c.want == reply.VerdictNotFound) {
			t.Errorf("%s beside the words %+v", r.Verdict, r.Answers)
		}
		read := &doubted{confidence: .5}
		s.config.Readers[0].Answerability = &learned.Answerability{
			Chance:     read,
			Thresholds: reply.Thresholds{Found: .6, Doubtful: .2},
		}
		if r := s.ask(t, request); r.Verdict != reply.VerdictDoubtful || *r.Answerable != .5 ||
			*r.Thresholds != (reply.Thresholds{Found: .6, Doubtful: .2}) || len(r.Answers) == 0 {
			t.Errorf("with a reader: %q by %+v", r.Verdict, r.Judged)
		}
		near(t, read.seen[0], run.LogOdds(c.chance))
	}
}

// TestRerankedVerdict: a reranker that was fitted for it says whether the collection answers, by thresholds of its own,
// from the chance without it; where a reader reads, that has the last word.
func TestRerankedVerdict(t *testing.T) {
	s, _, _ := lateStage()
	s.config.Rerankers = []learned.LoadedReranker{{Reranker: new(judge), Name: "judge"}}
	weight := .5
	without, reranked := &doubted{confidence: .9}, &doubted{confidence: .5}
	s.config.Defaults.Answerability = &learned.Answerability{
		Chance: without, Thresholds: reply.Thresholds{Found: .4, Doubtful: .1},
	}
	x := &s.config.Rerankers[0]
	x.Weight = &weight
	x.Answerability = &learned.Answerability{Chance: reranked, Thresholds: reply.Thresholds{Found: .6, Doubtful: .2}}
	request := Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), K: 5,
		Rerank: ask.RerankOptions{Asked: true, Wanted: true}}
	if r := s.ask(t, request); r.Verdict != reply.VerdictDoubtful || *r.Answerable != .5 ||
		*r.Thresholds != x.Answerability.Thresholds {
		t.Errorf("reranked: %q by %+v", r.Verdict, r.Judged)
	}
	near(t, reranked.seen[0], run.LogOdds(.9))
	reranked.confidence = .1
	if r := s.ask(t, request); r.Verdict != reply.VerdictNotFound {
		t.Errorf("reranked: %q by %+v", r.Verdict, r.Judged)
	}
	read := &doubted{confidence: .7}
	s.config.Readers = []learned.LoadedReader{{Reader: new(marker), Name: "marker", Confidence: &doubted{confidence: .3},
		Answerability: &learned.Answerability{Chance: read, Thresholds: reply.Thresholds{Found: .65, Doubtful: .2}}}}
	request.Answer = wanted(ask.AnswerOptions{})
	if r := s.ask(t, request); r.Verdict != reply.VerdictFound || *r.Answerable != .7 {
		t.Errorf("read, too: %q by %+v", r.Verdict, r.Judged)
	}
	near(t, read.seen[0], run.LogOdds(.9))
}

func near(t *testing.T, got, want float64) {
	t.Helper()
	if got-want > 1e-9 || want-got > 1e-9 {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestNoVerdict: where it is not known there is none, and a note says why; where nothing was
// found at all, no chance is needed.
func TestNoVerdict(t *testing.T) {
	s, _, _ := lateStage()
	s.config.Defaults.Answerability = &learned.Answerability{
		Chance:     &doubted{confidence: .9},
		Thresholds: reply.Thresholds{Found: .4, Doubtful: .1},
	}
	off := false
	for note, r := range map[string]Request{
		"late interaction": {Question: askedOften, Fusion: methodsOf(fusion.MethodGate), Late: &off},
		`"rrf"`:            {Question: askedOften, Fusion: methodsOf(fusion.MethodRRF)},
	} {
		got := s.ask(t, r)
		if got.Verdict != "" || got.Answerable != nil || got.Thresholds != nil || len(got.Notes) != 1 ||
			!strings.Contains(got.Notes[0], "no verdict") || !strings.Contains(got.Notes[0], note) {
			t.Errorf("%+v, notes %q", got.Judged, got.Notes)
		}
	}
	nothing := Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)}
	nothing.Filter.TagsAll = []string{"no such"}
	if got := s.ask(t, nothing); got.Verdict != reply.VerdictNotFound || got.Answerable != nil || len(got.Notes) != 0 {
		t.Errorf("of nothing: %+v, notes %q", got.Judged, got.Notes)
	}
	few, _, _ := lateStageOf(fusion.LeastRandom - 1)
	few.config.Defaults.Chances = &sure{first: .4, any: .7}
	few.config.Defaults.Answerability = s.config.Defaults.Answerability
	if got := few.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)}); got.Verdict != "" ||
		len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "15") {
		t.Errorf("of 15 passages: %+v, notes %q", got.Judged, got.Notes)
	}
}

// TestBasisOfEnsembles: how far ensembles agree is no probability, and is called so.
func TestBasisOfEnsembles(t *testing.T) {
	s := newStage("ABC", 60)
	r := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodMUF)})
	if r.Confidence == nil || r.Basis != reply.BasisEnsembles || r.Verdict != "" {
		t.Errorf("%v, %q, %q", r.Confidence, r.Basis, r.Verdict)
	}
}

// TestAnswerOfEarlierQuestion: in a conversation a reader reads what was asked before, too, and may find the answer to
// that: what is not found without it is doubtful with it, and a note says so.
func TestAnswerOfEarlierQuestion(t *testing.T) {
	talk := []Message{{Role: "user", Content: "does the red dog run"}, {Role: "user", Content: askedOften}}
	for _, c := range []struct {
		alone    float64
		messages []Message
		want     reply.Verdict
	}{
		{.3, nil, reply.VerdictFound}, {.3, talk, reply.VerdictDoubtful}, {.05, talk, reply.VerdictDoubtful},
		{.5, talk, reply.VerdictFound},
	} {
		s, _, _ := lateStage()
		s.config.Defaults.Answerability = &learned.Answerability{
			Chance:     &doubted{confidence: c.alone},
			Thresholds: reply.Thresholds{Found: .4, Doubtful: .1},
		}
		s.config.Readers = []learned.LoadedReader{{Reader: new(marker), Name: "marker",
			Answerability: &learned.Answerability{
				Chance:     &doubted{confidence: .9},
				Thresholds: reply.Thresholds{Found: .6, Doubtful: .2},
			}}}
		request := Request{
			Messages: c.messages,
			Fusion:   methodsOf(fusion.MethodGate),
			K:        5,
			Answer:   wanted(ask.AnswerOptions{}),
		}
		if c.messages == nil {
			request.Question = askedOften
		}
		r := s.ask(t, request)
		noted := slices.ContainsFunc(
			r.Notes, func(n string) bool { return strings.Contains(n, "what was asked before") },
		)
		if r.Verdict != c.want || noted != (c.want != reply.VerdictFound) || r.Thresholds.Of(*r.Answerable) != c.want {
			t.Errorf(
				"%v alone, %d messages: %q by %+v, notes %q", c.alone, len(c.messages), r.Verdict, r.Judged, r.Notes,
			)
		}
	}
}

// TestConfidenceOfNotFound: with a reader as without, no passage is likelier right than what was searched answers,
// where it does not.
func TestConfidenceOfNotFound(t *testing.T) {
	s, _, _ := lateStage()
	s.config.Defaults.Chances = &sure{first: .8, any: .9}
	s.config.Defaults.Answerability = &learned.Answerability{
		Chance:     &doubted{confidence: .9},
		Thresholds: reply.Thresholds{Found: .4, Doubtful: .1},
	}
	s.config.Readers = []learned.LoadedReader{{Reader: new(marker), Name: "marker", Confidence: &doubted{confidence: .7},
		Answerability: &learned.Answerability{
			Chance:     &doubted{confidence: .05},
			Thresholds: reply.Thresholds{Found: .6, Doubtful: .2},
		}}}
	r := s.ask(
		t,
		Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), K: 5, Answer: wanted(ask.AnswerOptions{})},
	)
	if r.Verdict != reply.VerdictNotFound || r.Confidence == nil || *r.Confidence > .05 || *r.Any > .05 {
		t.Errorf("%q by %+v, confidences %v and %v", r.Verdict, r.Judged, r.Confidence, r.Any)
	}
}

// overhearing is a reader that remembers what it was asked.
type overhearing struct {
	*marker
	asked []string
}

func (o *overhearing) Read(
	ctx context.Context, question string, passages []corpus.Passage,
) ([]learned.ReadResult, error) {
	o.asked = append(o.asked, question)
	return o.marker.Read(ctx, question, passages)
}

// TestReaderReadsTheLastMessage: behind the messages before it, the reader would find the answer to these again.
func TestReaderReadsTheLastMessage(t *testing.T) {
	s, _, _ := lateStage()
	reader := &overhearing{marker: new(marker)}
	s.config.Readers = []learned.LoadedReader{{Reader: reader, Name: "marker"}}
	talk := []Message{{Role: "user", Content: "does the red dog run"}, {Role: "user", Content: askedOften}}
	s.ask(t, Request{Messages: talk,
		Fusion: methodsOf(fusion.MethodGate), K: 5, Answer: wanted(ask.AnswerOptions{})})
	if len(reader.asked) != 1 || reader.asked[0] != askedOften {
		t.Errorf("the reader was asked %q, want %q", reader.asked, askedOften)
	}
}
