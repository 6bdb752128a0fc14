package answering

import (
	"slices"
	"strings"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/internal/answering/naming"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/internal/sources"
)

// TestNowhere: a number that tells, and a word with a capital letter inside a sentence, name something.
func TestNowhere(t *testing.T) {
	lacked := func(question string, words ...string) []string {
		k := &sources.Keys{}
		for _, word := range words {
			code := 0.
			if content.HasDigit(word) && len(word) > 2 {
				code = 1
			}
			k.List = append(k.List, sources.Key{Key: fusion.Key{Text: word, Code: code}, Nowhere: true})
		}
		k.List = append(k.List, sources.Key{Key: fusion.Key{Text: "Paris", Pair: true}, Nowhere: true})
		k.List = append(k.List, sources.Key{Key: fusion.Key{Text: "Oslo"}})
		return NamesNowhere(k, question, naming.Language{Capitals: true, IsFunction: func(word string) bool {
			return strings.EqualFold(word, "the") || strings.EqualFold(word, "of")
		}})
	}
	for _, c := range []struct {
		question    string
		words, want []string
	}{
		{"who built the mill of Lund?", []string{"Lund?", "built"}, []string{"Lund"}},
		{"who built the mill of lund?", []string{"lund?"}, nil},
		{"WHO BUILT THE MILL AT LUND?", []string{"LUND?", "BUILT"}, nil}, // all letters are capital
		{"Who Built The Mill At Lund?", []string{"Lund?", "Built"}, nil},
		{"mill Lund", []string{"Lund", "mill"}, []string{"Lund"}},
		{"Lund has a mill", []string{"Lund"}, nil}, // every sentence begins so
		{"I like it. Mills are old", []string{"Mills"}, nil},
		{"give me 12 names for part X-4711", []string{"12", "X-4711"}, []string{"X-4711"}},
		{"what did he do in Oslo and Paris", nil, nil}, // known, and a pair
		{"is vitamin C good", []string{"C"}, nil},
	} {
		if got := lacked(c.question, c.words...); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.question, got, c.want)
		}
	}
}

// TestSaidNowhere: the first passage may say a name in another form; and where its language begins ordinary words
// with capital letters, these tell no names.
func TestSaidNowhere(t *testing.T) {
	lake := corpus.Passage{Title: "Lake Baikal", Text: "The lake lies in Siberia, where few people live. It is deep."}
	for _, c := range []struct {
		name string
		in   corpus.Passage
		want bool // it is said nowhere
	}{
		{"Siberian", lake, false},
		{"Lund", lake, true},
		{"Livonia", lake, true}, // three letters of "live"
		{"4711", lake, true},
		{"Lund", corpus.Passage{Text: "Die Müllerin pflanzte den Birnbaum hinter dem Haus."}, false},
		{"4711", corpus.Passage{Text: "Die Müllerin pflanzte den Birnbaum hinter dem Haus."}, true},
	} {
		if got := len(NamesLackedBy([]string{c.name}, &c.in)) > 0; got != c.want {
			t.Errorf("%q in %q: %v", c.name, c.in.Text, got)
		}
	}
}

// TestShareOf: the share is of the rarities of words, without pairs.
func TestShareOf(t *testing.T) {
	k := &sources.Keys{List: []sources.Key{
		{Key: fusion.Key{Text: "mill", Rarity: .6}}, {Key: fusion.Key{Text: "of", Rarity: 0}},
		{Key: fusion.Key{Text: "Lund?", Rarity: 1}}, {Key: fusion.Key{Text: "built", Rarity: .4}},
		{Key: fusion.Key{Text: "mill of", Rarity: .9, Pair: true}},
	}}
	if got := ShareOf(k, []string{"Lund"}); got != .5 {
		t.Errorf("%v, want 1 of 2", got)
	}
	if got := ShareOf(new(sources.Keys), []string{"Lund"}); got != 0 {
		t.Errorf("of nothing %v", got)
	}
}
