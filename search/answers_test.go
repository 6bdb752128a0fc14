package search

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/extract"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// marker is a reader that marks words by rules that a test can follow: in every passage
// "cat" with a logit of 3 for each end and "dog" with 2, and of what follows "red" the
// passage's selection.
type marker struct {
	read    []string // ids of the passages, of the last call
	hook    func(ctx context.Context) error
	words   int // of a question; 0: four
	cut     map[string]bool
	unknown int
}

func (m *marker) KnownWords(string) (words, whole, unknown int) {
	return cmp.Or(m.words, 4), 0, m.unknown
}

func (m *marker) Read(ctx context.Context, _ string, passages []corpus.Passage) (out []learned.ReadResult, err error) {
	m.read = nil
	for _, p := range passages {
		m.read = append(m.read, p.ID)
		r := learned.ReadResult{
			Select: float64(strings.Count(p.Text, "red")),
			Starts: math.Inf(-1),
			Ends:   math.Inf(-1),
			Cut:    m.cut[p.ID],
		}
		for _, w := range []struct {
			word  string
			logit float64
		}{{"cat", 3}, {"dog", 2}, {"runs", 1}} {
			for at := 0; ; {
				i := strings.Index(p.Text[at:], w.word)
				if i < 0 {
					break
				}
				at += i
				r.Spans = append(r.Spans, learned.Span{Start: at, End: at + len(w.word), Score: 2 * w.logit})
				r.Starts = math.Log(math.Exp(r.Starts) + math.Exp(w.logit))
				at += len(w.word)
			}
		}
		r.Ends = r.Starts
		out = append(out, r)
	}
	if m.hook != nil {
		err = m.hook(ctx)
	}
	return out, err
}

// withReader returns a stage of 60 passages with a marker.
func withReader() (*stage, *marker) {
	s := newStage("A", 60)
	m := new(marker)
	s.config.Readers = []learned.LoadedReader{{Reader: m, Name: "marker"}, {Reader: m, Name: "other"}}
	return s, m
}

func wanted(o ask.AnswerOptions) ask.AnswerOptions { o.Wanted = true; return o }

// TestAnswersByHand: of the passages of the results, in their order, the likeliest words
// of each, or equal words of all together.
func TestAnswersByHand(t *testing.T) {
	s, m := withReader()
	for _, combine := range []string{"", ask.CombineBest, ask.CombineSum} {
		got := s.ask(t, Request{Question: askedOften, K: 5, Answer: wanted(ask.AnswerOptions{Combine: combine})})
		if !slices.Equal(m.read, ids(got.Results)) || len(got.Answers) == 0 {
			t.Fatalf("read %v of %v, %+v", m.read, ids(got.Results), got.Answers)
		}
		total, joint := map[string]float64{}, map[string]float64{}
		sum := 0.0
		for _, r := range got.Results {
			sum += math.Exp(float64(strings.Count(r.Text, "red")))
		}
		best := 0.0
		for _, r := range got.Results {
			weight := map[string]float64{"cat": math.Exp(3), "dog": math.Exp(2), "runs": math.Exp(1)}
			z := 0.0
			for word, w := range weight {
				z += w * float64(strings.Count(r.Text, word))
			}
			for word, w := range weight {
				if n := strings.Count(r.Text, word); n > 0 {
					p := w * w / z / z * math.Exp(float64(strings.Count(r.Text, "red"))) / sum
					total[word] += float64(n) * p
					joint[r.ID+word] = p
					best = max(best, p)
				}
			}
		}
		for i, a := range got.Answers {
			at := slices.IndexFunc(got.Results, func(r reply.Result) bool { return r.ID == a.Passage })
			if at < 0 || got.Results[at].Text[a.Start:a.End] != a.Text || a.Chance != nil {
				t.Fatalf("answer %+v", a)
			}
			want := joint[a.Passage+a.Text]
			if combine == ask.CombineSum {
				want = total[a.Text]
			}
			if math.Abs(a.Score-want) > 1e-9 || i > 0 && a.Score > got.Answers[i-1].Score {
				t.Errorf("%s: answer %d: %+v, by hand %g", combine, i+1, a, want)
			}
			if slices.ContainsFunc(got.Answers[:i], func(o reply.Extract) bool { return o.Text == a.Text }) {
				t.Errorf("%q twice", a.Text)
			}
		}
		if combine != ask.CombineSum && math.Abs(got.Answers[0].Score-best) > 1e-9 {
			t.Errorf("the first has %g, the best %g", got.Answers[0].Score, best)
		}
	}
}

// TestWhichPassagesAreRead: the first ones whatever the page, as many as asked for or five, more than the results too.
func TestWhichPassagesAreRead(t *testing.T) {
	s, m := withReader()
	all := s.ask(t, Request{Question: askedOften, K: 40})
	first := ids(all.Results)
	for _, c := range []struct{ k, offset, passages, from, to int }{{5, 0, 0, 0, 5}, {20, 0, 0, 0, 5}, {3, 0, 12, 0, 12},
		{1, 0, 0, 0, 5}, {4, 6, 0, 0, 5}, {4, 6, 2, 0, 2}} {
		engine := s.engine(t)
		got, err := engine.Search(
			context.Background(), Caller{},
			Request{Question: askedOften, K: c.k, Offset: c.offset, Answer: wanted(ask.AnswerOptions{Passages: c.passages})},
		)
		err = errors.Join(err, engine.Close(context.Background()))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(m.read, first[c.from:c.to]) || len(got.Results) != c.k {
			t.Errorf("%+v: read %v, %d results", c, m.read, len(got.Results))
		}
	}
	if got := s.ask(t, Request{Question: askedOften}); got.Answers != nil {
		t.Errorf("nobody asked: %+v", got.Answers)
	}
}

// fixedChance gives the n-th answer a chance of 1/n.
type fixedChance struct{}

func (fixedChance) Of(signals []float64) (float64, error) {
	return 1 / math.Exp(signals[slices.Index(extract.AnswerSignals(), "rank")]), nil
}

// TestSilence: no answers where none is sure enough, nor for what the reader cannot read.
func TestSilence(t *testing.T) {
	s, m := withReader()
	s.config.Readers[0].Chance = fixedChance{}
	answers := func(least *float64) []reply.Extract {
		return s.ask(t, Request{Question: askedOften, Answer: wanted(ask.AnswerOptions{MinChance: least})}).Answers
	}
	if got := answers(nil); len(got) < 2 || *got[0].Chance != 1 || *got[1].Chance != .5 {
		t.Errorf("%+v", got)
	}
	if got := answers(run.Ptr(.6)); len(got) != 1 {
		t.Errorf("above 0.6: %+v", got)
	}
	s.config.Readers[0].Chance = nil
	if got := answers(run.Ptr(.01)); got == nil || len(got) > 0 {
		t.Errorf("how sure nobody knows: %+v", got)
	}
	s.config.Readers[0].Chance = fixedChance{}
	m.words = 1
	if got := answers(nil); got == nil || len(got) > 0 {
		t.Errorf("for one word: %+v", got)
	}
	m.words, m.unknown = 0, 3
	if got := answers(nil); got == nil || len(got) > 0 {
		t.Errorf("in another script: %+v", got)
	}
}

// TestCutPassagesAreTold: of passages whose end a reader did not see, an answer says how many
// there are; of one that was not read it says nothing.
func TestCutPassagesAreTold(t *testing.T) {
	s, m := withReader()
	request := Request{
		Question: "q",
		K:        3,
		Fusion:   methodsOf(fusion.MethodRRF),
		Answer:   wanted(ask.AnswerOptions{Passages: 2}),
	}
	found := ids(s.ask(t, request).Results)
	for _, c := range []struct {
		cut  []string
		note string
	}{{nil, ""}, {found[:2], "marker read only the beginning of 2 of 2 passages"}, {found[1:], "of 1 of 2 passages"}, {found[2:], ""}} {
		m.cut = map[string]bool{}
		for _, id := range c.cut {
			m.cut[id] = true
		}
		notes := s.ask(t, request).Notes
		if (len(notes) == 1) != (c.note != "") || !strings.Contains(strings.Join(notes, ""), c.note) {
			t.Errorf("%v are cut: %q, want %q", c.cut, notes, c.note)
		}
	}
}

// TestReaderInTrouble: the passages come without answers, and the answer says why.
func TestReaderInTrouble(t *testing.T) {
	for hook, want := range map[error]string{errors.New("broken"): "it failed", full{}: "its queue is full", context.DeadlineExceeded: "in time"} {
		s, m := withReader()
		m.hook = func(context.Context) error { return hook }
		got := s.ask(t, Request{Question: askedOften, Answer: wanted(ask.AnswerOptions{})})
		if len(got.Results) != 10 || got.Answers == nil || len(got.Answers) > 0 || len(got.Degraded) != 1 ||
			got.Degraded[0].Source != "marker" ||
			!strings.Contains(got.Degraded[0].Reason, want) {
			t.Errorf("%v: %d results, %v, %+v", hook, len(got.Results), got.Answers, got.Degraded)
		}
	}
}

// TestReaderHasItsTime: sources have to be back earlier, and a late reader leaves time
// for the rest.
func TestReaderHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := withReader()
		s.encoders["A"].hook = sleep(time.Hour)
		m.hook = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		engine := s.engine(t)
		started := time.Now()
		got, err := engine.Search(
			context.Background(), Caller{},
			Request{Question: askedOften, TimeoutMS: 1000, Answer: wanted(ask.AnswerOptions{})},
		)
		if err != nil || len(got.Degraded) != 2 || len(got.Results) != 10 {
			t.Fatalf("%v, %+v", err, got.Degraded)
		}
		// The sources have 1000 - 100 - 250 ms, the reader up to 1000 - 50.
		if took := time.Since(started); took != 950*time.Millisecond {
			t.Errorf("took %v", took)
		}
		_ = engine.Close(context.Background())
	})
}

// TestAnswersRefused: what is wrong, with which value, and what is allowed.
func TestAnswersRefused(t *testing.T) {
	s, _ := withReader()
	one := ask.AnswerOptions{}
	for _, c := range []struct {
		r             Request
		code, pointer string
		says          string
	}{
		{Request{Answer: wanted(ask.AnswerOptions{Reader: "nobody"})}, "unknown_reader", "/answer/reader", `no reader "nobody": the readers are marker, other`},
		{Request{Answer: wanted(ask.AnswerOptions{Passages: 51})}, "out_of_range", "/answer/passages", "answer/passages is 51: it has to be from 1 to 50"},
		{Request{Answer: wanted(ask.AnswerOptions{Passages: -1})}, "out_of_range", "/answer/passages", "is -1"},
		{Request{Answer: wanted(ask.AnswerOptions{Combine: "all"})}, "unknown_value", "/answer/combine", "best, sum"},
		{Request{Answer: wanted(ask.AnswerOptions{MinChance: run.Ptr(1.5)})}, "out_of_range", "/answer/min_chance",
			"from 0 to 1"},
		{Request{Fusion: listOf("rrf", "sum"), Answer: wanted(one)}, "not_one_ranking", "/answer", "name one method"},
	} {
		c.r.Question = askedOften
		if e := s.refused(t, c.r); e.Code != c.code || e.Fields[0].Pointer != c.pointer ||
			!strings.Contains(e.Detail, c.says) {
			t.Errorf("%+v: %+v", c.r.Answer, e)
		}
	}
	s.config.Readers = nil
	if e := s.refused(t, Request{Question: askedOften, Answer: wanted(one)}); e.Code != "needs_reader" {
		t.Errorf("without a reader: %+v", e)
	}
}

// TestAnswerInJSON: true, false, or an object.
func TestAnswerInJSON(t *testing.T) {
	for text, want := range map[string]ask.AnswerOptions{
		`true`: {Wanted: true}, `false`: {}, `null`: {}, `{}`: {Wanted: true},
		`{"reader":"x","passages":3,"combine":"sum","min_chance":0}`: {Wanted: true, Reader: "x", Passages: 3,
			Combine: "sum", MinChance: run.Ptr(0.0)},
		`{"max_tokens":5}`: {Wanted: true, MaxTokens: 5},
	} {
		var got ask.AnswerOptions
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.Wanted != want.Wanted ||
			got.Reader != want.Reader ||
			got.Passages != want.Passages ||
			got.Combine != want.Combine ||
			got.MaxTokens != want.MaxTokens ||
			(got.MinChance == nil) != (want.MinChance == nil) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		data, err := json.Marshal(got)
		var again ask.AnswerOptions
		if err != nil || json.Unmarshal(data, &again) != nil || again.Wanted != got.Wanted ||
			again.Passages != got.Passages {
			t.Errorf("%s became %s", text, data)
		}
	}
	if err := json.Unmarshal([]byte(`"yes"`), new(ask.AnswerOptions)); err == nil {
		t.Error("text is taken")
	}
}

// TestNormaliseAnswer: what SQuAD's script makes of these, worked out by hand.
func TestNormaliseAnswer(t *testing.T) {
	for text, want := range map[string]string{
		"The  Beatles":                 "beatles",
		"a man, the plan":              "man plan",
		"U.S.":                         "us",
		"the-theatre a":                "thetheatre",
		"An “Apple”":                   "“apple”",
		"$5.00":                        "500",
		"a–b":                          "–b",
		"éa the Éclair":                "éa éclair",
		"  ":                           "",
		"anthem":                       "anthem",
		"theatre of the absurd (1961)": "theatre of absurd 1961",
	} {
		if got := extract.NormaliseAnswer(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestRankedByReader: with a weight, the gate's passages that are read are in the order of
// selection plus weight times score, and so are the answers; what it adds to a score is
// among the contributions, and those behind keep their place, whatever the page. Other methods, and /fuse, know nothing
// of it.
func TestRankedByReader(t *testing.T) {
	s, _ := withReader()
	s.config.Defaults.Chances = &sure{first: .4, any: .7}
	r := Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), K: 20}
	before := s.ask(t, r)
	const weight = 2.
	for i := range s.config.Readers {
		s.config.Readers[i].Ranking = weight
	}
	red := func(x reply.Result) float64 { return float64(strings.Count(x.Text, "red")) }
	read := slices.Clone(before.Results[:12])
	least := math.Inf(1)
	for _, x := range read {
		least = min(least, red(x))
	}
	slices.SortStableFunc(read, func(a, b reply.Result) int {
		return cmp.Compare(red(b)+weight*b.Score, red(a)+weight*a.Score)
	})
	r.Answer = wanted(ask.AnswerOptions{Passages: 12, Combine: ask.CombineBest})
	got := s.ask(t, r) // which adds up the contributions
	if want := append(ids(read), ids(before.Results[12:])...); !slices.Equal(ids(got.Results), want) ||
		slices.Equal(want, ids(before.Results)) {
		t.Fatalf("%v, by hand %v, without %v", ids(got.Results), want, ids(before.Results))
	}
	for i, x := range got.Results {
		c := x.Contributions[len(x.Contributions)-1]
		if i >= 12 {
			if c.Origin == reply.OriginRead {
				t.Errorf("%s was not read: %+v", x.ID, c)
			}
		} else if c.Source != "marker" || c.Origin != reply.OriginRead || math.Abs(*c.Score-(red(x)-least)) > 1e-9 ||
			math.Abs(x.Score-read[i].Score-(red(x)-least)/weight) > 1e-6 {
			t.Errorf("%s: %+v", x.ID, c)
		}
	}
	joint := func(x reply.Result) float64 {
		return math.Exp(red(x) + weight*x.Score - weight*(red(x)-least)/weight)
	}
	sum := 0.0
	for _, x := range got.Results[:12] {
		sum += joint(x)
	}
	at := slices.IndexFunc(got.Results, func(x reply.Result) bool { return x.ID == got.Answers[0].Passage })
	all, best := 0.0, 0.0
	for word, logit := range map[string]float64{"cat": 3, "dog": 2, "runs": 1} {
		if n := strings.Count(got.Results[at].Text, word); n > 0 {
			all = all + float64(n)*math.Exp(logit)
			best = max(best, logit)
		}
	}
	if want := joint(got.Results[at]) / sum * math.Exp(2*best) / all / all; math.Abs(got.Answers[0].Score-want) > 1e-6 {
		t.Errorf("the first answer has %v, by hand %v", got.Answers[0].Score, want)
	}

	r.K, r.Answer.Passages = 3, 12
	if few := s.ask(t, r); !slices.Equal(ids(few.Results), ids(read[:3])) {
		t.Errorf("three of twelve: %v, by hand %v", ids(few.Results), ids(read[:3]))
	}
	r.K, r.Offset = 4, 4
	engine := s.engine(t)
	page, err := engine.Search(t.Context(), Caller{}, r)
	err = errors.Join(err, engine.Close(t.Context()))
	if err != nil || !slices.Equal(ids(page.Results), ids(got.Results[4:8])) {
		t.Errorf("the second page: %v, %v", err, ids(page.Results))
	}
	other := Request{Question: askedOften, Fusion: methodsOf(fusion.MethodRRF), K: 20}
	plain := s.ask(t, other)
	other.Answer = wanted(ask.AnswerOptions{})
	if with := s.ask(t, other); !slices.Equal(ids(with.Results), ids(plain.Results)) {
		t.Errorf("by rrf: %v, without a reader %v", ids(with.Results), ids(plain.Results))
	}

	again := func(of reply.Response) []string {
		f := FuseRequest{Fusion: fusion.MethodRRF}
		for _, x := range of.Results {
			c := Candidate{ID: x.ID}
			for _, by := range x.Contributions {
				c.Contributions = append(
					c.Contributions, SourceScore{Source: by.Source, Score: by.Score, Rank: by.Rank, Origin: by.Origin},
				)
			}
			f.Candidates = append(f.Candidates, c)
		}
		fused, err := Fuse(f)
		if err != nil {
			t.Fatal(err)
		}
		return ids(fused.Results)
	}
	if a, b := again(got), again(before); !slices.Equal(a, b) {
		t.Errorf("fused again: %v, without a reader %v", a, b)
	}
}
