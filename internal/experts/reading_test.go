package experts

import (
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/models"
)

// readingEncoder is an Encoder of which only Late and Sparse may be called.
type readingEncoder struct {
	Encoder
	late, sparse bool
}

// Late returns x.late.
func (x readingEncoder) Late() bool { return x.late }

// Sparse returns x.sparse.
func (x readingEncoder) Sparse() bool { return x.sparse }

// expertOf returns an expert that says that it reads these languages.
func expertOf(name string, of readingEncoder, languages ...string) *Expert {
	m := models.Manifest{Kind: models.KindDense, Vectors: &models.Vectors{Languages: languages}}
	return &Expert{name: name, Bundle: &models.Bundle{Manifest: m}, Encoder: of}
}

// TestLeavesToOthers: an expert for English leaves out a passage only if its language is known, and a dense expert that
// is in the set says that it reads this language.
func TestLeavesToOthers(t *testing.T) {
	english := func() *Expert { return expertOf("english", readingEncoder{}, "en") }
	many := expertOf("many", readingEncoder{}, models.ManyLanguages)
	french := expertOf("french", readingEncoder{}, "fr")
	unknown := expertOf("unknown", readingEncoder{})
	late, pieces := expertOf("late", readingEncoder{late: true}, "en"), expertOf("sparse", readingEncoder{sparse: true}, "en")
	tokens := expertOf("tokens", readingEncoder{late: true}, models.ManyLanguages)
	for name, c := range map[string]struct {
		expert *Expert
		others []*Expert
		lang   any
		want   bool
	}{
		"German beside an expert for many":        {english(), []*Expert{many}, "de", true},
		"English":                                 {english(), []*Expert{many}, "en", false},
		"no language":                             {english(), []*Expert{many}, nil, false},
		"a number":                                {english(), []*Expert{many}, 49, false},
		"no code of a language":                   {english(), []*Expert{many}, "de-AT", false},
		"alone":                                   {english(), nil, "de", false},
		"nobody reads it":                         {english(), []*Expert{french}, "de", false},
		"who reads it does not say so":            {english(), []*Expert{unknown}, "de", false},
		"late interaction alone":                  {english(), []*Expert{tokens}, "de", false},
		"late interaction for English":            {late, []*Expert{many}, "de", true},
		"weights of word pieces":                  {pieces, []*Expert{many}, "de", false},
		"an expert whose languages are not known": {expertOf("any", readingEncoder{}), []*Expert{many}, "de", false},
	} {
		set := &Set{Searched: c.others}
		set.noteReaders([]*Expert{c.expert})
		p := corpus.Passage{Title: "t", Text: "text"}
		if c.lang != nil {
			p.Metadata = map[string]any{corpus.LanguageKey: c.lang}
		}
		if got := c.expert.LeavesToOthers(p); got != c.want {
			t.Errorf("%s: it is left to others: %t", name, got)
		}
	}
}
