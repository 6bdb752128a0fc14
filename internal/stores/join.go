package stores

import (
	"example.org/conclave/search"
	"example.org/conclave/store"
	inFolder "example.org/conclave/store/folder/backend"
)

// Joined is several collections as one corpus.
type Joined interface {
	search.Corpus
	// Experts returns the names of the experts that all of them have.
	Experts() []string
	// Close ends it, when nothing searches it any more.
	Close()
}

// Join shows open collections, by their names, as one corpus, whose statistics of words are of all of
// them. They stay open for as long as it is in use.
func Join(all []store.Backend, names []string) (Joined, error) { return inFolder.Join(all, names) }
