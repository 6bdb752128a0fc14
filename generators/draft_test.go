package generators

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// written puts an answer together as it comes in pieces, and returns what was told of it.
func written(pieces []string, drop bool) (w Written, told []string) {
	before := ""
	d := newDraft(Asking{Question: "How deep is it?", Passages: lake}, drop, false, Watching{
		Text: func(text string) {
			more, grows := strings.CutPrefix(text, before)
			if !grows {
				more = fmt.Sprintf("(%q became %q)", before, text)
			}
			before = text
			told = append(told, more)
		},
		Sentence: func(s Sentence) { told = append(told, fmt.Sprintf("<%d %v>", len(s.Passages), s.Supported)) },
	})
	for _, piece := range pieces {
		d.addPiece(piece)
	}
	d.endDraft(&w, true)
	return w, told
}

// TestDraft: a sentence is told as it comes and compared when the next one has begun; one that no
// passage supports is left out where that is wanted, before anybody was told of it; and what says that
// there is no answer is not told at all.
func TestDraft(t *testing.T) {
	answer := []string{"Its floor drops", " to 1,642 metres", " [1].", " The nerpa", " lives in Geneva. [2]", " It lives in fresh water [2]"}
	w, told := written(answer, false)
	if got, want := strings.Join(told, "·"), "Its floor drops to 1,642 metres [1].·<1 true>· The nerpa"+
		"· lives in Geneva.· [2]·<1 false>· It lives in fresh water· [2]·<1 true>"; got != want {
		t.Errorf("told %s, want %s", got, want)
	}
	if w.Text != strings.Join(answer, "") || len(w.Sentences) != 3 || len(w.Dropped) != 0 {
		t.Errorf("%+v", w)
	}
	w, told = written(answer, true)
	if want := "Its floor drops to 1,642 metres [1]. It lives in fresh water [2]"; w.Text != want || len(w.Dropped) != 1 ||
		slices.ContainsFunc(told, func(s string) bool { return strings.Contains(s, "Geneva") }) {
		t.Errorf("%+v, told %q", w, told)
	}
	for _, pieces := range [][]string{{"NOT", " ANS", "WERED"}, {"Not answered."}, {" **NOT ANSWERED** [1]"},
		{"NOT ANSWERED", ". The passages are about lakes."}, {"I don't know", " the answer. Nothing", " is said of it."}} {
		if w, told := written(pieces, false); !w.Refused || w.Text != "" || len(told) > 0 {
			t.Errorf("%q: %+v, told %q", pieces, w, told)
		}
	}
	if w, told := written([]string{"The nerpa lives", " there.\n\nNOT", " ANSWERED"}, false); !w.Refused ||
		slices.ContainsFunc(told, func(s string) bool { return strings.Contains(s, "ANS") }) {
		t.Errorf("refused at the end: %+v, told %q", w, told)
	}
	for _, pieces := range [][]string{{"NOT", "hing lives there [2]."}, {"Not answered in time are seals [2]."}} {
		if w, _ := written(pieces, false); w.Refused || w.Text != strings.Join(pieces, "") {
			t.Errorf("%q: %+v", pieces, w)
		}
	}
}

// TestDraftInPieces: an answer is the same whatever pieces it comes in.
func TestDraftInPieces(t *testing.T) {
	const text = "1. It is approx. 1,642 m deep [1], e.g. at 3.5 km from shore [1][2]. Seals, i.e. nerpas, live there.[2] Prof. Ivanov says so. [7] ok\n2. No. 3 is it"
	for _, drop := range []bool{false, true} {
		whole, _ := written([]string{text}, drop)
		for size := 1; size < 12; size++ {
			var pieces []string
			for chunk := range slices.Chunk([]byte(text), size) {
				pieces = append(pieces, string(chunk))
			}
			w, told := written(pieces, drop)
			if fmt.Sprintf("%+v", w) != fmt.Sprintf("%+v", whole) {
				t.Errorf("in pieces of %d:\n%+v, want\n%+v\ntold %q", size, w, whole, told)
			}
		}
	}
}
