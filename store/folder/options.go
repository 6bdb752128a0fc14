package folder

import (
	"context"
	"fmt"

	"example.org/conclave/ann"
	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
)

// maxDimension is the greatest dimension that an encoder or a manifest may state.
const maxDimension = 1 << 16

// PassageEncoder turns passages into the vectors of one expert. The vectors
// are in the order of the passages and have Dimension numbers each. Its
// Fingerprint covers everything that decides a vector.
//
// A Late one gives a passage a vector for each token (late interaction): its
// vectors are lists of them, of a multiple of Dimension numbers, and its index is of
// the kind that compares such lists (ann.Late), whatever Index says.
type PassageEncoder interface {
	Name() string
	Dimension() int
	Fingerprint() string
	Late() bool
	// Parts cuts the text of a passage into parts that get a vector each; nil: a
	// passage has one vector. Parts begin and end between characters and may
	// overlap. Without any, the whole text is one.
	Parts() func(text string) []rank.Span
	// Owner is the expert whose vectors are this one's too; "": it has its own.
	Owner() string
	EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error)
}

// Source gives the passages of a build, one after the other, io.EOF behind the
// last. corpus.Reader and corpus.Series are sources.
type Source interface {
	Next() (corpus.Passage, error)
	// Place says where the passage that Next returned last comes from.
	Place() corpus.Place
	// Progress is how many bytes were read of how many; -1 when unknown.
	Progress() (done, total int64)
}

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

// Unlike names a property that is set in x and another one in stored, by its JSON name,
// and gives both; "" where there is none.
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
// pairs of adjacent words, and with an analysis by its name (bm25.Analysis). An unknown
// name is an error.
func NewWords(phrases bool, analysis string) (p bm25.Params, err error) {
	p = bm25.DefaultParams()
	p.Phrases = phrases
	p.Analysis, err = bm25.ParseAnalysis(analysis)
	return p, err
}

// UnicodeWords returns NewWords with phrases and the analysis that is meant for all
// languages that are written with letters.
func UnicodeWords() bm25.Params {
	p := bm25.DefaultParams()
	p.Phrases = true
	p.Analysis = bm25.Unicode
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
	// batchPassages is how many passages an encoder gets at a time; 0: 256.
	// A larger batch lets it group passages by length, at the price of memory.
	batchPassages int
	// wordMemory bounds BM25's postings in memory before they go to a temporary
	// file; 0: 512 MiB.
	wordMemory int64
	// BadPassage is called for a passage that cannot be indexed, with an error
	// that names its place; nil goes on without it, an error ends the build.
	// Without BadPassage the first bad passage ends the build.
	BadPassage func(error) error
	// Replace lets a passage take the place of the one in the collection that
	// has its id. Two passages of one source with the same id are an error all
	// the same.
	Replace bool
	// Progress is called now and then, by one goroutine at a time.
	Progress func(Progress)
}

func (o *BuildOptions) complete() error {
	if o.batchPassages == 0 {
		o.batchPassages = 256
	}
	if o.wordMemory == 0 {
		o.wordMemory = 512 << 20
	}
	if o.batchPassages < 0 || o.wordMemory < 0 || o.Threads < 0 {
		return fmt.Errorf(
			"build options below zero: %d passages a batch, %d bytes for words, %d threads",
			o.batchPassages,
			o.wordMemory,
			o.Threads,
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
				x.Name(),
				tokens,
				parts,
				none,
			)
		}
		if seen[x.Name()] {
			return fmt.Errorf("expert %q is named twice", x.Name())
		}
		seen[x.Name()] = true
	}
	return nil
}

func checkEncoder(x Encoder) error {
	name := x.Name()
	if err := CheckExpertName(name); err != nil {
		return err
	}
	switch {
	case x.Dimension() < 1 || x.Dimension() > maxDimension:
		return fmt.Errorf("expert %q has vectors of %d numbers; allowed are 1 to %d", name, x.Dimension(), maxDimension)
	case x.Fingerprint() == "":
		return fmt.Errorf("expert %q has no fingerprint", name)
	}
	return nil
}

// CheckExpertName returns an error for a name that no expert can have.
func CheckExpertName(name string) error {
	switch {
	case name == "bm25", name == "phrases":
		return fmt.Errorf("an expert cannot be called %q: that is the name of a word index", name)
	case !expertName.MatchString(name):
		return fmt.Errorf(
			"%q is no name for an expert: lower-case letters, digits, - and _, beginning with a letter or digit, 64 at most, and for a granularity @ and its size, as in base@3",
			name,
		)
	}
	return nil
}

// BuildReport says what a build made.
type BuildReport struct {
	Generation uint64            `json:"generation"`
	Segment    string            `json:"segment"`  // the new one; empty when none was made
	Passages   int               `json:"passages"` // in the new segment, encoded for the new expert, or analysed anew
	Replaced   int               `json:"replaced"` // passages that were there before and made way
	Skipped    int               `json:"skipped"`  // bad ones that BadPassage let pass
	Copies     int               `json:"copies"`   // of all passages, those with title and text of another one before them
	Bytes      int64             `json:"bytes"`    // of the new files
	Recall     map[string]Recall `json:"recall"`
}
