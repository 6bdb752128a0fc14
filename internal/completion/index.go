// Package completion completes what somebody begins to type, from texts such as the titles and headings of documents.
package completion

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"example.org/conclave/internal/normalise"
)

// Kind is what a text is the name of.
type Kind string

// Kinds of texts.
const (
	Document Kind = "document" // a title
	Heading  Kind = "heading"
	Word     Kind = "word"     // what was typed, with its last word completed
	Question Kind = "question" // that others asked
)

// Entry is a text that what is typed may be completed to.
type Entry struct {
	Text     string
	Kind     Kind
	Passages int // that have it; the more, the earlier it is suggested
}

// Index finds entries by the beginnings of their words. It does not change and is safe for concurrent use.
type Index struct {
	entries []Entry  // the one with the most passages first
	folded  []string // of each entry
	starts  []start  // of each word of each entry, in the order of what follows
	words   []word   // that the entries have, in alphabetical order
}

// start is where a word begins in the folded text of an entry.
type start struct{ entry, at uint32 }

// word is a folded word, how often entries have it, and how many passages of these there are.
type word struct {
	text              string
	entries, passages int
}

// New returns an index of entries. Those with the same text and kind count as one with all their passages, and of those
// with the same text and another kind the one with the most passages counts, a title before a heading. Texts without a
// letter or digit are left out. It keeps the texts.
func New(entries []Entry) *Index {
	type name struct {
		text string
		kind Kind
	}
	passages := map[name]int{}
	for _, e := range entries {
		passages[name{e.Text, e.Kind}] += e.Passages
	}
	best := map[string]Entry{}
	for n, count := range passages {
		e := best[n.text]
		if e.Text == "" || count > e.Passages || count == e.Passages && n.kind < e.Kind {
			best[n.text] = Entry{n.text, n.kind, count}
		}
	}
	x := &Index{}
	for _, e := range best {
		if normalise.Fold(e.Text) != "" {
			x.entries = append(x.entries, e)
		}
	}
	slices.SortFunc(x.entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(b.Passages, a.Passages), cmp.Compare(len(a.Text), len(b.Text)), cmp.Compare(a.Text, b.Text))
	})
	counts := map[string]word{}
	for i, e := range x.entries {
		text := normalise.Fold(e.Text)
		x.folded = append(x.folded, text)
		for at := 0; at < len(text); {
			x.starts = append(x.starts, start{uint32(i), uint32(at)})
			one, _, _ := strings.Cut(text[at:], " ")
			w := counts[one]
			counts[one] = word{one, w.entries + 1, w.passages + e.Passages}
			at += len(one) + 1
		}
	}
	slices.SortFunc(x.starts, func(a, b start) int {
		return cmp.Or(cmp.Compare(x.at(a), x.at(b)), cmp.Compare(a.entry, b.entry))
	})
	for _, w := range counts {
		x.words = append(x.words, w)
	}
	slices.SortFunc(x.words, func(a, b word) int { return cmp.Compare(a.text, b.text) })
	return x
}

// Len returns the number of entries.
func (x *Index) Len() int { return len(x.entries) }

// at returns what follows from a start on.
func (x *Index) at(s start) string { return x.folded[s.entry][s.at:] }

// begins returns the range of sorted texts that begin with a prefix, of n in all.
func begins(n int, text func(int) string, prefix string) (from, to int) {
	from = sort.Search(n, func(i int) bool { return text(i) >= prefix })
	to = from + sort.Search(n-from, func(i int) bool { return !strings.HasPrefix(text(from+i), prefix) })
	return from, to
}

// startsOf returns the starts from which on the folded texts begin with a prefix.
func (x *Index) startsOf(prefix string) []start {
	from, to := begins(len(x.starts), func(i int) string { return x.at(x.starts[i]) }, prefix)
	return x.starts[from:to]
}

// wordsOf returns the words that begin with a prefix.
func (x *Index) wordsOf(prefix string) []word {
	from, to := begins(len(x.words), func(i int) string { return x.words[i].text }, prefix)
	return x.words[from:to]
}
