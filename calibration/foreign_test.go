package calibration

import (
	"math"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/reply"
)

// byFirstSignal returns a verdict whose log-odds are factor times the first signal.
func byFirstSignal(factor float64) *VerdictFit {
	terms := make([]Term, len(fusion.SignalNames()))
	for i, name := range fusion.SignalNames() {
		terms[i].Name = name
	}
	terms[0].Coefficient = factor
	thresholds := reply.Thresholds{Found: .5, Doubtful: .1}
	return &VerdictFit{Answerable: AnswerableFit{Chance: Logistic{Signals: terms}, Thresholds: thresholds}}
}

// TestThresholdsByLanguage: a collection that an encoder of its own searches gets thresholds for the verdict of its
// language, by the questions in that language alone; with late interaction only for the verdict that was fitted so.
func TestThresholdsByLanguage(t *testing.T) {
	spaced, unspaced := byFirstSignal(1), byFirstSignal(2)
	shared := byFirstSignal(3)
	own := []fusion.ObservedSource{{Kind: fusion.Generalist, Foreign: true}, {Kind: fusion.Lexical}}
	with := func(more ...fusion.ObservedSource) []fusion.ObservedSource { return append(own[:2:2], more...) }
	base, late := fusion.ObservedSource{Kind: fusion.Base}, fusion.ObservedSource{Kind: fusion.Late}
	tokens := fusion.ObservedSource{Kind: fusion.Late, Foreign: true}
	for name, c := range map[string]struct {
		language string
		sources  []fusion.ObservedSource
		late     bool
		want     *VerdictFit // nil: no thresholds
	}{
		"German":                         {"de", own, false, spaced},
		"Chinese":                        {"zh", own, false, unspaced},
		"Korean, which has no fit":       {"ko", own, false, nil},
		"of another language":            {"", own, false, nil},
		"with late interaction":          {"de", with(tokens), true, spaced},
		"without it in the fit":          {"de", with(tokens), false, nil},
		"without it in the collection":   {"de", own, true, nil},
		"beside the base":                {"de", with(base), false, nil},
		"beside the base and its late":   {"de", with(base, late), false, shared},
		"late interaction of the base's": {"de", with(late), false, shared},
	} {
		f := &fitRun{Evidence: &Evidence{}, record: &Record{}, report: &FitReport{}, options: FitOptions{
			Verdict: shared, Foreign: &ForeignPriors{
				Late: c.late, Verdict: spaced, Unspaced: map[string]*VerdictFit{"zh": unspaced, "ja": unspaced},
			},
		}}
		var ranked []RankedQuestion
		ask := func(kind Without, language string, signal float64) {
			signals := make([]float64, len(fusion.SignalNames()))
			signals[0] = signal
			q := &Question{Language: language, Sources: c.sources}
			if kind == Answerable {
				f.Questions = append(f.Questions, *q)
			}
			ranked = append(ranked, RankedQuestion{Without: kind, Signals: signals, Asked: q})
		}
		for i := range 40 { // chances from a half on
			ask(Answerable, c.language, float64(i)/10)
			ask(Unanswerable, c.language, -4)
		}
		for range 10 { // in another language, where they would lower the threshold
			ask(Answerable, "", -9)
		}
		if err := f.fitVerdict(ranked, f.options.fitsFor(c.sources)); err != nil {
			t.Fatal(err)
		}
		switch got := f.record.Verdict; {
		case (got == nil) != (c.want == nil):
			t.Errorf("%s: %+v", name, got)
		case got == nil:
		case got.Fit != c.want.Answerable.fingerprint():
			t.Errorf("%s: thresholds of another fit", name)
		case c.want == spaced || c.want == unspaced:
			if got.Found == 0 || f.report.Verdict.Foreign != 40 {
				t.Errorf("%s: %+v, of %d foreign questions", name, got, f.report.Verdict.Foreign)
			}
		}
	}
}

// TestForeignSubjectsAreLeftOut: of the questions that the shipped confidence judges, those in another language than
// the collection are left out where that is of an encoder of its own, which was fitted to no such questions.
func TestForeignSubjectsAreLeftOut(t *testing.T) {
	own, other := &Question{Language: "en"}, &Question{}
	answers := []RankedQuestion{{Asked: other}, {Without: Judged, Asked: own}, {Without: Judged, Asked: other}}
	for want, s := range map[int]shippedFits{2: {foreign: &ForeignPriors{}}, 3: {}} {
		if got := s.withoutUnjudged(answers); len(got) != want {
			t.Errorf("%d answers are left, want %d", len(got), want)
		}
	}
}

// TestFewForeignQuestionsMoveLittle: a fit that is pulled to a gate gives the sources the weights that this gate gives
// them, where an encoder of its own is the only dense source and where it stands beside the base.
func TestFewForeignQuestionsMoveLittle(t *testing.T) {
	prior := fusion.Gate{
		Dense: make([]float64, len(fusion.DenseFeatureNames())), Lexical: make([]float64, len(fusion.LexicalFeatureNames())),
		Words: -2, Spread: .07, ForeignWords: .1,
	}
	random := []rank.Hit{}
	for i := range fusion.LeastRandom {
		random = append(random, rank.Hit{Ordinal: rank.Ordinal(900 + i), Score: float32(i%2) / 2})
	}
	for _, alone := range []bool{true, false} {
		questions := planted(t, 20, 7)
		for i := range questions {
			s := questions[i].Sources
			for at := range s {
				if s[at].Kind.Dense() {
					s[at].Kind, s[at].Foreign, s[at].Random = fusion.Generalist, alone || at == 1, random
				}
			}
			if !alone {
				s[0].Kind = fusion.Base
			}
		}
		fit, err := FitGate(t.Context(), questions, GateOptions{Towards: &prior, pull: 1e9})
		if err != nil {
			t.Fatal(err)
		}
		q := &questions[0]
		features := fusion.FeaturesOf(q.Table, q.Sources)
		want := prior.Weigh(nil, q.Sources, features)
		for i, got := range fit.Weigh(nil, q.Sources, features) {
			if math.Abs(got.Weight-want[i].Weight) > 1e-3*want[i].Weight {
				t.Errorf("alone %t: source %d weighs %v, and %v by the gate", alone, i, got.Weight, want[i].Weight)
			}
		}
	}
}
