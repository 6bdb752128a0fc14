package search

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/extract"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// sure gives every answer one chance for the first passage and another for
// more, and keeps the signals.
type sure struct {
	first, any float64
	seen       []float64
}

func (s *sure) Of(signals []float64, k int) (float64, error) {
	s.seen = signals
	if k > 1 {
		return s.any, nil
	}
	return s.first, nil
}

// TestAbstains: below min_confidence there are no results, at it there are.
func TestAbstains(t *testing.T) {
	s := newStage("ABC", 60)
	judge := &sure{first: .4, any: .7}
	s.config.Defaults.Chances = judge
	for _, c := range []struct {
		least float64
		none  bool
	}{{0, false}, {.4, false}, {.41, true}} {
		r := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), MinConfidence: c.least, K: 5})
		if *r.Confidence != .4 || *r.Any != .7 || r.Abstained != c.none || (len(r.Results) == 0) != c.none ||
			r.Results == nil {
			t.Errorf(
				"at %v: confidence %v, any %v, abstained %v, %d results",
				c.least,
				*r.Confidence,
				*r.Any,
				r.Abstained,
				len(r.Results),
			)
		}
	}
	if len(judge.seen) != len(fusion.SignalNames()) || judge.seen[5] == 0 {
		t.Errorf("signals %v", judge.seen)
	}
	listed := s.ask(t, Request{Question: askedOften, Fusion: listOf(fusion.MethodGate), MinConfidence: .5})
	if r := listed.Rankings[0]; !r.Abstained || len(r.Results) != 0 {
		t.Errorf("in a list: %+v", r)
	}
	one := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), K: 1})
	ten := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), K: 10})
	if len(one.Results) != 1 || one.Results[0].ID != ten.Results[0].ID {
		t.Errorf("one result %v, ten %v", ids(one.Results), ids(ten.Results))
	}
}

// TestFewPassagesGiveNoConfidence: where there are too few passages to compare a question with,
// whatever the sources that are compared, the answer has results and no confidence, and says why;
// with a threshold it has no results.
func TestFewPassagesGiveNoConfidence(t *testing.T) {
	for passages, want := range map[int]bool{1: false, fusion.LeastRandom - 1: false, fusion.LeastRandom: true} {
		s := newStage("ABC", passages)
		s.config.Defaults.Chances = &sure{first: .4, any: .7}
		for _, least := range []float64{0, .3} {
			r := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), MinConfidence: least, K: 5})
			noted := slices.ContainsFunc(r.Notes, func(n string) bool {
				says := strings.HasSuffix(n, "lets no answer without one through")
				return strings.Contains(n, "there is no confidence") && says == (least > 0)
			})
			if (r.Confidence != nil) != want || (r.Any != nil) != want || r.Abstained != (!want && least > 0) ||
				(len(r.Results) == 0) != r.Abstained || noted == want {
				t.Errorf("%d passages, at least %v: %+v", passages, least, r)
			}
		}
		if r := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodRRF)}); len(r.Notes) > 0 {
			t.Errorf("without a gate: %q", r.Notes)
		}
	}
}

// TestUnknownKeysGiveNoConfidence: where nobody can say what the first passage holds of the question's
// rare words, there is no confidence rather than one of a passage that holds none, and a note.
func TestUnknownKeysGiveNoConfidence(t *testing.T) {
	s := newStage("ABC", 60)
	s.config.Defaults.Chances = &sure{first: .4, any: .7}
	for _, cause := range []error{nil, context.DeadlineExceeded} {
		s.words.unexplained = cause
		r := s.ask(t, Request{Question: "where is XK-7731", Fusion: methodsOf(fusion.MethodGate), K: 5})
		noted := slices.ContainsFunc(r.Notes, func(n string) bool {
			return strings.Contains(n, "there is no confidence: what the first")
		})
		if (r.Confidence != nil) != (cause == nil) || (r.Any != nil) != (cause == nil) || noted != (cause != nil) ||
			len(r.Results) != 5 {
			t.Errorf("%v: %+v", cause, r)
		}
	}
}

// TestMinConfidenceNeedsOne: a number that nobody calibrated is no threshold.
func TestMinConfidenceNeedsOne(t *testing.T) {
	s := newStage("ABC", 20)
	for _, r := range []Request{
		{Question: askedOften, Fusion: methodsOf(fusion.MethodRRF), MinConfidence: .5},
		{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), MinConfidence: .5},
	} {
		if e := s.refused(t, r); e.Code != "needs_calibration" || e.Fields[0].Pointer != "/min_confidence" {
			t.Errorf("%v: %+v", r.Fusion, e)
		}
	}
	if e := s.refused(t, Request{Question: askedOften, MinConfidence: 1.5}); e.Fields[0].Pointer != "/min_confidence" {
		t.Errorf("%+v", e)
	}
	s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodMUF), MinConfidence: .01})
}

// TestMinConfidenceNeedsOneThatTells: one that hardly tells right from wrong is no
// threshold; the answer without a threshold is given, with the confidence.
func TestMinConfidenceNeedsOneThatTells(t *testing.T) {
	s := newStage("ABC", 20)
	s.config.Defaults.ConfidenceAUROC = map[string]float64{fusion.MethodMUF: .599, fusion.MethodMUFSparse: .6}
	for _, methods := range []Methods{methodsOf(fusion.MethodMUF), listOf(fusion.MethodMUFSparse, fusion.MethodMUF)} {
		e := s.refused(t, Request{Question: askedOften, Fusion: methods, MinConfidence: .01})
		if e.Code != "uninformative_confidence" || len(e.Fields) != 1 || e.Fields[0].Pointer != "/min_confidence" ||
			!strings.Contains(e.Fields[0].Detail, `"muf"`) {
			t.Errorf("%v: %+v", methods, e)
		}
	}
	s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodMUFSparse), MinConfidence: .01})
	if r := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodMUF)}); r.Confidence == nil {
		t.Error("no confidence without a threshold")
	}
}

// own gives every source one chance, and keeps the signals by their number.
type own struct{ seen [][]float64 }

func (o *own) Of(signals []float64) (float64, error) {
	o.seen = append(o.seen, signals)
	return .25, nil
}

// TestSourcesHaveChances: where it is calibrated, where words were asked, and
// where the base says how familiar the question is; the same whoever else was
// asked.
func TestSourcesHaveChances(t *testing.T) {
	s := newStage("ABCD", 60)
	b, words := new(own), new(own)
	s.config.Experts[1].Chance, s.config.Defaults.WordsChance = b, words
	no := false
	with := func(r reply.Response) (names []string) {
		for _, source := range r.Sources {
			if source.Chance != nil {
				names = append(names, source.Name)
				if *source.Chance != .25 {
					t.Errorf("%s: chance %v", source.Name, *source.Chance)
				}
			}
		}
		return names
	}
	both := []string{"B", reply.WordSource}
	for name, c := range map[string]struct {
		r    Request
		want []string
	}{
		"the gate":          {Request{Fusion: methodsOf(fusion.MethodGate)}, both},
		"ranks":             {Request{Fusion: methodsOf(fusion.MethodRRF)}, both},
		"MUF has no words":  {Request{Fusion: methodsOf(fusion.MethodMUF)}, nil},
		"no words":          {Request{Fusion: methodsOf(fusion.MethodRRF), BM25: &no}, nil},
		"no base, for none": {Request{Fusion: methodsOf(fusion.MethodRRF), Experts: &[]string{"B", "C"}}, nil},
		"the gate encodes":  {Request{Fusion: methodsOf(fusion.MethodGate), Experts: &[]string{"B", "C"}}, both},
		"one specialist":    {Request{Fusion: methodsOf(fusion.MethodGate), Experts: &[]string{"A", "B"}}, both},
	} {
		c.r.Question = askedOften
		if got := with(s.ask(t, c.r)); !slices.Equal(got, c.want) {
			t.Errorf("%s: chances of %v, want %v", name, got, c.want)
		}
	}
	for _, o := range []*own{b, words} {
		for _, signals := range o.seen[1:] {
			if !slices.Equal(signals, o.seen[0]) {
				t.Errorf("the signals are %v, and with other experts beside %v", o.seen[0], signals)
			}
		}
	}
	if len(b.seen[0]) != len(fusion.SourceSignalNames(fusion.Specialist)) ||
		len(words.seen[0]) != len(fusion.SourceSignalNames(fusion.Lexical)) {
		t.Errorf("%d and %d signals", len(b.seen[0]), len(words.seen[0]))
	}
}

// reads is an encoder that knows the words of a list.
type reads struct {
	learned.QuestionEncoder
	whole, unknown int
}

func (r reads) KnownWords(text string) (words, whole, unknown int) {
	return len(strings.Fields(text)), r.whole, r.unknown
}

func (r reads) Readable(text string) float64 {
	return min(1, 2*(1-float64(r.unknown)/float64(len(strings.Fields(text)))))
}

// TestQuestionsNobodyReads: an answer says when the encoder cannot read most of the
// question, and the confidence is told how much of it is known.
func TestQuestionsNobodyReads(t *testing.T) {
	for _, c := range []struct {
		whole, unknown int
		note           bool
	}{{3, 0, false}, {1, 2, false}, {1, 3, true}} { // of four words
		s := newStage("A", 60)
		judge := &sure{first: .4, any: .7}
		s.config.Defaults.Chances = judge
		s.config.Experts[0].Encoder = reads{s.config.Experts[0].Encoder, c.whole, c.unknown}
		s.config.Experts[0].Representatives = nil
		r := s.ask(t, Request{Question: "as many as four", Fusion: methodsOf(fusion.MethodGate)})
		if (len(r.Notes) == 1) != c.note {
			t.Errorf("%d of four words unknown: notes %q", c.unknown, r.Notes)
		}
		if got, want := judge.seen[12], float64(c.whole)/4; got != want {
			t.Errorf("the share of known words is %v, want %v", got, want)
		}
		alone := s.ask(t, Request{Question: "as many as four", Experts: &[]string{}, Fusion: methodsOf(fusion.MethodRRF)})
		if len(alone.Notes) != 0 {
			t.Errorf("words alone: notes %q", alone.Notes)
		}
	}
}

// TestConfidenceSaysWhence: calibrated unless the configuration says shipped, and a
// shipped one is silent where a source that it was fitted with has no part.
func TestConfidenceSaysWhence(t *testing.T) {
	s := newStage("ABC", 60)
	s.config.Defaults.Chances = &sure{first: .4, any: .7}
	request := Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)}
	if r := s.ask(t, request); r.Basis != reply.BasisCalibrated {
		t.Errorf("the basis is %q", r.Basis)
	}
	s = newStage("ABC", 60)
	s.config.Defaults.Chances = &sure{first: .4, any: .7}
	s.config.Defaults.ChancesBasis = reply.BasisShipped
	if r := s.ask(t, request); r.Confidence != nil || r.Basis != "" {
		t.Errorf("without late interaction the shipped confidence is %v, %q", r.Confidence, r.Basis)
	}
	s, _, _ = lateStage()
	s.config.Defaults.Chances = &sure{first: .4, any: .7}
	s.config.Defaults.ChancesBasis = reply.BasisShipped
	if r := s.ask(t, request); r.Confidence == nil || r.Basis != reply.BasisShipped {
		t.Errorf("with late interaction the shipped confidence is %v, %q", r.Confidence, r.Basis)
	}
	s = newStage("ABC", 60)
	if r := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodRRF)}); r.Confidence != nil ||
		r.Basis != "" {
		t.Errorf("no confidence, and its basis is %q", r.Basis)
	}
}

// doubted turns the signals of a reading into a confidence, and keeps them.
type doubted struct {
	confidence float64
	seen       []float64
}

func (d *doubted) Of(signals []float64) (float64, error) { d.seen = signals; return d.confidence, nil }

// TestConfidenceWithAReader: where a reader has read the first passages, the confidence
// is what is made of what it said, and decides whether there is an answer; else it is
// what it was.
func TestConfidenceWithAReader(t *testing.T) {
	s, m := withReader()
	judge := &doubted{confidence: .9}
	s.config.Defaults.Chances = &sure{first: .4, any: .7}
	s.config.Readers[0].Confidence = judge
	gated := Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), MinConfidence: .5, K: 5}
	if r := s.ask(t, gated); !r.Abstained || *r.Confidence != .4 || judge.seen != nil {
		t.Errorf("nobody asked for an answer: %+v", r)
	}
	read := gated
	read.Answer = wanted(ask.AnswerOptions{})
	r := s.ask(t, read)
	if r.Abstained || *r.Confidence != .9 || *r.Any != .9 || len(r.Results) != 5 || len(r.Answers) == 0 {
		t.Fatalf("sure: %+v", r)
	}
	// By hand: ln(.4/.6); how many times "red" is in the first; less the most in the others;
	// its best words, "cat" or "dog", among all.
	selections := []float64{}
	words := math.Inf(-1)
	for i, x := range r.Results {
		selections = append(selections, float64(strings.Count(x.Text, "red")))
		if i == 0 {
			all, best := 0.0, 0.0
			for word, logit := range map[string]float64{"cat": 3, "dog": 2, "runs": 1} {
				if n := strings.Count(x.Text, word); n > 0 {
					all = all + float64(n)*math.Exp(logit)
					best = max(best, logit)
				}
			}
			words = 2*best - 2*math.Log(all)
		}
	}
	for i, want := range []float64{math.Log(.4 / .6), selections[0], selections[0] - slices.Max(selections[1:]), words} {
		if math.Abs(judge.seen[i]-want) > 1e-9 {
			t.Errorf("signal %s is %v, by hand %v", extract.ReadSignals()[i], judge.seen[i], want)
		}
	}
	judge.confidence = .1
	read.MinConfidence = .3
	if r := s.ask(t, read); !r.Abstained || *r.Confidence != .1 || *r.Any != .7 || len(r.Results) != 0 ||
		r.Answers == nil ||
		len(r.Answers) != 0 {
		t.Errorf("in doubt: %+v", r)
	}
	m.unknown = 3
	if r := s.ask(t, read); r.Abstained || *r.Confidence != .4 {
		t.Errorf("in a script that it cannot read: %+v", r)
	}
	m.unknown = 0
	read.Offset = 5
	engine := s.engine(t)
	if r, err := engine.Search(t.Context(), Caller{}, read); err != nil || !r.Abstained || *r.Confidence != .1 {
		t.Errorf("of the second page: %v, %+v", err, r)
	}
	_ = engine.Close(t.Context())
}
