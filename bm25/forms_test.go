package bm25

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/rank"
)

// unicodeParams returns the usual constants with the analysis Unicode.
func unicodeParams() Params {
	p := DefaultParams()
	p.Analysis = forms.Unicode
	p.Phrases = true
	return p
}

// TestFormsMeet: for each pair a passage with one form is found by the other, first, among
// passages without it; and by itself, with a score that is not lower.
func TestFormsMeet(t *testing.T) {
	pairs := [][2]string{
		{"Jose\u0301", "Jos\u00e9"}, {"José Núñez", "Jose Nunez"}, {"Straße", "Strasse"}, {"STRASSE", "straße"},
		{
			"Æsir",
			"aesir",
		}, {"Søren", "Soren"}, {"Łódź", "Lodz"}, {"Þór", "Thor"}, {"ﬁnance", "finance"}, {"soft\u00adware", "software"},
		{
			"data\u200bbase",
			"database",
		}, {"ＡＢＣ１２３", "abc123"}, {"CO₂", "CO2"}, {"ΣΊΣΥΦΟΣ", "σίσυφος"}, {"σίσυφος", "σισυφος"}, {"ёлка", "елка"}, {"don’t", "don't"},
		{"naïve", "naive"}, {"İzmir", "izmir"}, {"Diyarbakır", "Diyarbakir"}, {"Nguyễn", "Nguyen"}, {"שָׁלוֹם", "שלום"},
		{
			"03-893",
			"03893",
		}, {"BC.6613-18", "BC661318"}, {"wi-fi", "wifi"}, {"Wi-Fi", "WiFi"}, {"wi\u2011fi", "wifi"}, {"e-mails", "email"},
		{
			"U-1909/G",
			"U1909G",
		}, {"TA-729AE2", "TA 729 AE 2"}, {"Windows 11", "Windows11"}, {"covid-19", "covid 19"}, {"COVID19", "covid-19"},
		{
			"O'Neill",
			"ONeill",
		}, {"node.js", "nodejs"}, {"snake_case", "snake case"}, {"snake_case", "snakecase"}, {"1,000", "1000"}, {"00:1A:2B:3C", "001A2B3C"},
		{"AT&T", "ATT"}, {"café-bar", "cafebar"}, {"13721-LW-01", "13721LW01"}, {"2024-01-15", "20240115"},
	}
	var others []goldenPassage
	for i := range 40 {
		others = append(
			others,
			goldenPassage{Text: fmt.Sprintf("passage %d of other things, about rivers and stones number %d", i, i*7)},
		)
	}
	for _, p := range pairs {
		for i := range p {
			passage, question := p[i], p[1-i]
			x := build(
				t,
				unicodeParams(),
				append(others[:40:40], goldenPassage{Text: "We looked at " + passage + " and wrote it down."}),
			)
			hits, err := x.Search(t.Context(), "what of "+question+"?", 3)
			if err != nil || len(hits) == 0 || hits[0].Ordinal != 40 {
				t.Errorf("%+q in a passage, asked for as %+q: %v, %v", passage, question, hits, err)
				continue
			}
			same, err := x.Search(t.Context(), "what of "+passage+"?", 3)
			if err != nil || len(same) == 0 || same[0].Ordinal != 40 ||
				same[0].Score < hits[0].Score && len(forms.Unicode.Terms(passage)) >= len(forms.Unicode.Terms(question)) {
				t.Errorf("%+q asked for as it stands: %v, %v; as %+q: %v", passage, same, err, question, hits)
			}
			bound, err := x.alone().UpperBound("what of " + question + "?")
			if err != nil || float64(hits[0].Score) > bound {
				t.Errorf("%+q for %+q: score %v above the bound %v, %v", passage, question, hits[0].Score, bound, err)
			}
		}
	}
}

// TestExactFormFirst: of passages alike but for the form of a word, the one with the
// question's form is first.
func TestExactFormFirst(t *testing.T) {
	for _, forms := range [][]string{
		{"José", "Jose"}, {"José", "Josè", "Jose"}, {"Straße", "Strasse"}, {"wi-fi", "wifi"}, {"03-893", "03893"}, {"don’t", "don't"},
		{"C++", "C#", "C"}, {".NET", "net"},
	} {
		var passages []goldenPassage
		for _, f := range forms {
			passages = append(passages, goldenPassage{Text: "notes on " + f + " here"})
		}
		x := build(
			t,
			unicodeParams(),
			append(passages, goldenPassage{Text: "other"}, goldenPassage{Text: "more"}, goldenPassage{Text: "again"}),
		)
		for i, f := range forms {
			hits, err := x.Search(t.Context(), f, 9)
			if err != nil || len(hits) != len(forms) || hits[0].Ordinal != rank.Ordinal(i) && !(f == "C" || f == "net") {
				t.Errorf("%q among %q: %v, %v", f, forms, hits, err)
			}
			if len(hits) > 1 && hits[0].Score == hits[1].Score && f != "C" && f != "net" {
				t.Errorf("%q among %q: the first two have equal scores", f, forms)
			}
		}
	}
}

// TestApart: what looks alike to nobody stays apart.
func TestApart(t *testing.T) {
	for _, c := range [][2]string{
		{"3.14", "314"}, {"car pet", "carpet"}, {"into", "in to"}, {"C", "C++ 17"}, {"क", "की"}, {"か", "が"}, {"the end. Next", "endNext"}, {"wi fi", "wi,fi2"},
	} {
		terms := forms.Unicode.Terms(c[1])
		x := build(t, unicodeParams(), []goldenPassage{{Text: c[0]}, {Text: "other words"}, {Text: "and more"}})
		for _, v := range forms.Unicode.Variants(c[1]) {
			for _, entry := range v.Entries {
				r, err := x.lookup([]byte(entry))
				if err != nil || r.df > 0 {
					t.Errorf("a passage %q has the form %q of the question %q (terms %q)", c[0], entry, c[1], terms)
				}
			}
		}
	}
}

// TestASCIIAsLucene: of texts in ASCII, the terms, the lengths, the document frequencies
// and the upper bounds of the two analyses are the same. So is a score to the last bit
// where no other form has a part in it, and another form only adds.
func TestASCIIAsLucene(t *testing.T) {
	same, more, zero := 0, 0, 0
	for _, name := range []string{"cacm", "cranfield", "scifact"} {
		s := loadGolden(t, name)
		for i := range s.passages {
			s.passages[i].Title, s.passages[i].Text = ascii(s.passages[i].Title), ascii(s.passages[i].Text)
		}
		lucene := DefaultParams()
		folded := unicodeParams()
		lucene.Phrases = true
		a, b := build(t, lucene, s.passages), build(t, folded, s.passages)
		if a.Docs() != b.Docs() || a.Terms() != b.Terms() {
			t.Fatalf("%s: %d terms in %d passages, and %d in %d", name, a.Terms(), a.Docs(), b.Terms(), b.Docs())
		}
		t.Logf(
			"%s: %d bytes with Lucene, %d with Unicode: %.3f times",
			name,
			a.Size(),
			b.Size(),
			float64(b.Size())/float64(a.Size()),
		)
		for n, run := range s.runs {
			if n%4 > 0 {
				continue // all take half a minute
			}
			question := ascii(s.questions[run.ID].Question)
			if !slices.Equal(forms.Analyse(question), forms.Unicode.Terms(question)) {
				t.Fatalf("%q: other terms", question)
			}
			for _, at := range [][2]*Searcher{{a.alone(), b.alone()}, {a.Phrases(), b.Phrases()}} {
				bounds := [2]float64{}
				for i := range at {
					var err error
					bounds[i], err = at[i].UpperBound(question)
					if err != nil {
						t.Fatal(err)
					}
				}
				hits, err := at[1].Search(t.Context(), question, 20, nil)
				if err != nil {
					t.Fatal(err)
				}
				ordinals, scores := make([]rank.Ordinal, len(hits)), make([]float32, len(hits))
				for i, h := range hits {
					ordinals[i] = h.Ordinal
				}
				if err := at[0].Scores(question, ordinals, scores); err != nil {
					t.Fatal(err)
				}
				usesOther := false
				for i, h := range hits {
					terms, err := at[1].Explain(question, h.Ordinal)
					if err != nil {
						t.Fatal(err)
					}
					extra := 0.0
					for _, term := range terms {
						if term.For != "" || strings.ContainsAny(term.Term, "+#") || strings.HasPrefix(term.Term, ".") {
							extra += float64(term.Score)
						}
					}
					usesOther = usesOther || extra > 0
					switch {
					case extra == 0 && h.Score != scores[i]:
						t.Fatalf("%s: %q: passage %d has %v, with Lucene %v", name, question, h.Ordinal, h.Score, scores[i])
					case math.Abs(float64(h.Score)-float64(scores[i])-extra) > 1e-5:
						t.Fatalf(
							"%s: %q: passage %d has %v, with Lucene %v and forms that add %v",
							name,
							question,
							h.Ordinal,
							h.Score,
							scores[i],
							extra,
						)
					case extra == 0:
						same++
					case scores[i] == 0:
						zero++
					default:
						more++
					}
				}
				if bounds[0] != bounds[1] {
					if len(forms.Unicode.Variants(question)) == 0 || bounds[1] > bounds[0]+20 {
						t.Fatalf("%s: %q: upper bounds %v", name, question, bounds)
					}
				}
			}
		}
	}
	t.Logf("%d scores are the same, %d have more by another form, %d have that alone", same, more, zero)
	if same < 50*(more+zero) || more == 0 {
		t.Errorf("too many scores differ")
	}
}

func ascii(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 128 {
			return -1
		}
		return r
	}, text)
}

// sightings are words as they are written, with their terms and other forms worked out by
// hand, and what a question with them looks for beside its terms: what stands for which
// terms.
var sightings = map[string]struct {
	terms, forms []string
	variants     map[string][]string
}{
	"café": {[]string{"café"}, []string{"~cafe"}, map[string][]string{"café": {"~café", "cafe", "~cafe"}}},
	"cafè": {[]string{"cafè"}, []string{"~cafe"}, map[string][]string{"cafè": {"~cafè", "cafe", "~cafe"}}},
	"cafe": {[]string{"cafe"}, nil, map[string][]string{"cafe": {"~cafe"}}},
	"wi-fi": {
		[]string{"wi", "fi"},
		[]string{"~wifi"},
		map[string][]string{"wi": {"~wi"}, "fi": {"~fi"}, "wi fi": {"wifi", "~wifi"}},
	},
	"wifi":   {[]string{"wifi"}, nil, map[string][]string{"wifi": {"~wifi"}}},
	"fi":     {[]string{"fi"}, nil, map[string][]string{"fi": {"~fi"}}},
	"o'hara": {[]string{"o'hara"}, []string{"~ohara"}, map[string][]string{"o'hara": {"~o'hara", "ohara", "~ohara"}}},
	"ohara":  {[]string{"ohara"}, nil, map[string][]string{"ohara": {"~ohara"}}},
	"ax-77": {
		[]string{"ax", "77"},
		[]string{"~ax77"},
		map[string][]string{"ax": {"~ax"}, "77": {"~77"}, "ax 77": {"ax77", "~ax77"}},
	},
	"ax77":      {[]string{"ax77"}, nil, map[string][]string{"ax77": {"~ax77", "ax 77"}}},
	"river":     {[]string{"river"}, nil, nil},
	"stone":     {[]string{"stone"}, nil, nil},
	"mountain.": {[]string{"mountain"}, nil, nil},
}

// TestOtherFormsAgainstFormula: search, scores and bounds are those of the definition (see
// variant), summed up by hand over all passages, in one segment or several, some of whose
// passages are deleted, and among a selection.
func TestOtherFormsAgainstFormula(t *testing.T) {
	const seed = 35
	rng := rand.New(rand.NewPCG(seed, 0))
	written := []string{}
	for w := range sightings {
		written = append(written, w)
	}
	slices.Sort(written)
	passages, own := make([]goldenPassage, 9500), make([][]string, 9500)
	for i := range passages {
		for range rng.IntN(9) {
			w := written[rng.IntN(len(written))]
			if rng.IntN(3) > 0 {
				w = []string{"river", "stone", "mountain."}[rng.IntN(3)]
			}
			own[i] = append(own[i], w)
		}
		passages[i].Text = strings.Join(own[i], " , ")
	}
	params := unicodeParams()
	segments := divide(t, rng, params, passages, 3)
	gone := map[int]bool{}
	for i := range segments {
		segments[i].Deleted = make([]uint64, segments[i].Index.Docs()/64+1)
		for p := range segments[i].Index.Docs() {
			if rng.IntN(10) == 0 {
				segments[i].Deleted[p/64] |= 1 << (p % 64)
				gone[int(segments[i].Base)+p] = true
			}
		}
	}
	s, err := NewSearcher(segments...)
	if err != nil {
		t.Fatal(err)
	}
	oracle := newFormOracle(params, own, gone)
	for range 60 {
		var asked []string
		for range 1 + rng.IntN(3) {
			asked = append(asked, written[rng.IntN(len(written))])
		}
		slices.Sort(asked)
		asked = slices.Compact(asked)
		question := strings.Join(asked, " , ")
		want := oracle.scores(asked)
		k := 1 + rng.IntN(300)
		hits, err := s.Search(t.Context(), question, k, nil)
		if err != nil {
			t.Fatal(err)
		}
		bound, err := s.UpperBound(question)
		if err != nil {
			t.Fatal(err)
		}
		least := math.Inf(1)
		found := map[rank.Ordinal]bool{}
		for _, h := range hits {
			if math.Abs(float64(h.Score)-want[h.Ordinal]) > 1e-5 || float64(h.Score) > bound*(1+1e-6) {
				t.Fatalf(
					"seed %d: %q: passage %q has %v (bound %v), by the formula %v",
					seed,
					question,
					own[h.Ordinal],
					h.Score,
					bound,
					want[h.Ordinal],
				)
			}
			least = min(least, float64(h.Score))
			found[h.Ordinal] = true
			single := make([]float32, 1)
			if err := s.Scores(question, []rank.Ordinal{h.Ordinal}, single); err != nil || single[0] != h.Score {
				t.Fatalf("seed %d: %q: Scores gives %v for a hit with %v: %v", seed, question, single, h.Score, err)
			}
		}
		for o, score := range want {
			if score > 0 && !found[rank.Ordinal(o)] && (len(hits) < k || score > least+1e-5) {
				t.Fatalf(
					"seed %d: %q: passage %q with %v is missing; the last hit of %d has %v",
					seed,
					question,
					own[o],
					score,
					k,
					least,
				)
			}
		}
		chosen, selection := randomSelection(rng, segments, len(passages), 0.05, false)
		among, err := s.Search(t.Context(), question, k, selection)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range among {
			if !chosen[h.Ordinal] || math.Abs(float64(h.Score)-want[h.Ordinal]) > 1e-5 {
				t.Fatalf(
					"seed %d: %q among a selection: passage %d has %v, by the formula %v",
					seed,
					question,
					h.Ordinal,
					h.Score,
					want[h.Ordinal],
				)
			}
		}
		if n := 0; true {
			for o := range chosen {
				if want[o] > 0 {
					n++
				}
			}
			if len(among) != min(n, k) {
				t.Fatalf("seed %d: %q: %d hits among a selection of which %d match, k %d", seed, question, len(among), n, k)
			}
		}
	}
}

// TestFrequencyOfForms: a word is known where a question with it finds a passage.
func TestFrequencyOfForms(t *testing.T) {
	x := build(
		t,
		unicodeParams(),
		[]goldenPassage{{Text: "Jose\u0301 Nún\u0303ez has wi-fi"}, {Text: "nothing of it"}, {Text: "José again"}},
	)
	for word, want := range map[string]int{"José": 2, "jose": 2, "NUNEZ": 1, "nunéz": 1, "wifi": 1, "wi": 1, "wlan": 0} {
		if got, term, err := x.alone().Frequency(word); err != nil || !term || got != want {
			t.Errorf("%q: %d passages, want %d, %v", word, got, want, err)
		}
	}
	if n, term, err := x.alone().Frequency("of"); n != 0 || term || err != nil {
		t.Errorf("a stop word: %d, %t, %v", n, term, err)
	}
}
