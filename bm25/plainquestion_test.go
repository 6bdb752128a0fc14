package bm25

import (
	"fmt"
	"strings"
	"testing"

	"example.org/conclave/bm25/forms"
)

// TestPlainWords: in a collection of plain words a question allocates as much memory with
// the analysis Unicode as with Lucene, but for a few lists, however many words it has; and
// its index has the same entries.
func TestPlainWords(t *testing.T) {
	var passages []goldenPassage
	for i := range 200 {
		passages = append(
			passages,
			goldenPassage{Text: fmt.Sprintf("%c%c river and %c stone, by mountains", 'b'+i%20, 'c'+i/20, 'd'+i%17)},
		)
	}
	question := strings.Repeat("river stones and mountain, by forest ", 20)
	var allocations [2]float64
	var entries [2]int
	for analysis := range allocations {
		params := DefaultParams()
		params.Analysis = forms.Analysis(analysis)
		x := build(t, params, passages)
		entries[analysis] = x.Vocabulary()
		s := x.alone()
		allocations[analysis] = testing.AllocsPerRun(50, func() {
			if _, err := s.Search(t.Context(), question, 10, nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	if entries[0] != entries[1] || allocations[1] > allocations[0]+6 {
		t.Errorf("%v entries, a search makes %v allocations", entries, allocations)
	}
}

// TestFormRange: the other forms in a vocabulary are found, whatever stands before and
// behind them in the order of bytes, and nothing else is taken for one.
func TestFormRange(t *testing.T) {
	for text, forms := range map[string][]string{
		"":                          nil,
		"river zebra 東京 élan":       {"~elan"},
		"zürich wi-fi 77-a ｱｲｳ 0 z": {"~77a", "~wifi", "~zurich"},
		"wi-fi":                     {"~wifi"},
		"東京":                        nil,
	} {
		x := build(t, unicodeParams(), []goldenPassage{{Text: text}})
		found, err := x.findForms()
		if err != nil || int(found.end-found.first) != len(forms) {
			t.Errorf("%q has the forms %v (%v), want %q", text, found, err, forms)
			continue
		}
		for i, form := range forms {
			entry, err := x.termText(found.first + uint32(i))
			r, failed := x.lookup([]byte(form))
			if err != nil || failed != nil || string(entry) != form || r.df != 1 {
				t.Errorf("%q: form %d is %q, want %q, which %d passages have; %v, %v", text, i, entry, form, r.df, err, failed)
			}
		}
		for _, no := range []string{"~", "~river", "~東京", "~zz"} {
			if r, err := x.lookup([]byte(no)); err != nil || r.df > 0 {
				t.Errorf("%q has %q: %v, %v", text, no, r, err)
			}
		}
	}
}
