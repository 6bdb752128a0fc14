package store

import (
	"fmt"

	"example.org/conclave/ann"
	"example.org/conclave/bm25"
	"example.org/conclave/bm25/forms"
)

// Index is a kind of vector index and how it is built. Zero values are the
// defaults.
type Index struct {
	Kind           string `json:"kind"`                      // "hnsw" (default), "flat", "coder"
	M              int    `json:"m,omitempty"`               // neighbours of a node
	EfConstruction int    `json:"ef_construction,omitempty"` // candidates while building
	Seed           uint64 `json:"seed,omitempty"`
}

// Check returns an error for options with which no index can be built.
func (x Index) Check() error {
	return ann.BuildOptions{M: x.M, EfConstruction: x.EfConstruction}.Check(x.Kind)
}

// Unlike returns the JSON name of the first property that is set in x (not zero) and differs in stored, with both
// values: asked is that of x, has that of stored. It returns "" and nils if no property differs.
func (x Index) Unlike(stored Index) (property string, asked, has any) {
	switch {
	case x.Kind != "" && x.Kind != stored.Kind:
		return "kind", x.Kind, stored.Kind
	case x.M != 0 && x.M != stored.M:
		return "m", x.M, stored.M
	case x.EfConstruction != 0 && x.EfConstruction != stored.EfConstruction:
		return "ef_construction", x.EfConstruction, stored.EfConstruction
	case x.Seed != 0 && x.Seed != stored.Seed:
		return "seed", x.Seed, stored.Seed
	}
	return "", nil, nil
}

// WordConstants are those of BM25.
type WordConstants = bm25.Params

// NewWords returns the constants of BM25 for a new collection, with or without an index of
// pairs of adjacent words, and with an analysis by its name (forms.Analysis). An unknown
// name is an error.
func NewWords(phrases bool, analysis string) (p bm25.Params, err error) {
	p = bm25.DefaultParams()
	p.Phrases = phrases
	p.Analysis, err = forms.ParseAnalysis(analysis)
	return p, err
}

// UnicodeWords returns BM25's default constants with an index of pairs of adjacent words and the analysis
// forms.Unicode, which is meant for all languages that are written with letters.
func UnicodeWords() bm25.Params {
	p := bm25.DefaultParams()
	p.Phrases = true
	p.Analysis = forms.Unicode
	return p
}

// BuildOptions says how to make a segment, and with the first one a collection.
type BuildOptions struct {
	// Experts encode the passages. None: words alone. Adding to a collection
	// needs the encoder of every expert it has.
	Experts []PassageEncoder
	// Shared names those of Experts that one run of an encoder serves.
	Shared []SharedPass
	// Index is for the experts of a new collection, and for an expert that is
	// added; not for late interaction, which has one kind. A collection keeps each
	// expert's kind.
	Index Index
	// Words are BM25's constants; the zero value is bm25.DefaultParams, and for
	// an existing collection what it was built with.
	Words bm25.Params
	// Threads for building graphs; 0: all processors.
	Threads int
	// BatchPassages is how many passages an encoder gets at a time; 0: 256.
	// A larger batch lets it group passages by length, at the price of memory.
	BatchPassages int
	// WordMemory bounds BM25's postings in memory before they go to a temporary
	// file; 0: 64 MiB, which costs no time: they are merged from the disk's cache.
	WordMemory int64
	// BadPassage is called for a passage that cannot be indexed, with an error
	// that names its place; nil goes on without it, an error ends the build.
	// Without BadPassage the first bad passage ends the build.
	BadPassage func(error) error
	// Replace lets a passage take the place of the one in the collection that
	// has its id. Two passages of one source with the same id are an error all
	// the same.
	Replace bool
	// New: the collection is made, and there may be nothing of it but what an interrupted build left.
	New bool
	// Empty: the collection that is made has no passages, and no stream is read.
	Empty bool
	// Calibration is the text of the record that a new collection begins with; nil: none.
	Calibration []byte
	// Settings is the text of the settings that the collection gets when its passages are there; nil: it keeps
	// those that it has.
	Settings []byte
	// Share is what is indexed of the passages, while other processes index the rest; the zero
	// value is everything. Only a store that several processes fill takes another one.
	Share Share
	// Progress is called now and then, by one goroutine at a time.
	Progress func(Progress)
}

// Complete sets BatchPassages and WordMemory to their defaults if they are 0; other defaults are filled in later. It
// returns an error for a number below zero, for an expert that checkEncoder refuses or that is named twice, and for
// one that is more than one of: late, of parts, without vectors of its own.
func (o *BuildOptions) Complete() error {
	if o.BatchPassages == 0 {
		o.BatchPassages = 256
	}
	if o.WordMemory == 0 {
		o.WordMemory = 64 << 20
	}
	if o.BatchPassages < 0 || o.WordMemory < 0 || o.Threads < 0 {
		return fmt.Errorf(
			"build options below zero: %d passages a batch, %d bytes for words, %d threads", o.BatchPassages,
			o.WordMemory, o.Threads,
		)
	}
	seen := map[string]bool{}
	for _, x := range o.Experts {
		if err := checkEncoder(x); err != nil {
			return err
		}
		if tokens, parts, none := x.Late(), x.Parts() != nil, x.Owner() != ""; tokens && parts || tokens && none ||
			parts && none {
			return fmt.Errorf(
				"expert %q has more than one of these: a vector for each token (%t), one for each part of a passage (%t), none of its own (%t)",
				x.Name(), tokens, parts, none,
			)
		}
		if seen[x.Name()] {
			return fmt.Errorf("expert %q is named twice", x.Name())
		}
		seen[x.Name()] = true
	}
	return nil
}
