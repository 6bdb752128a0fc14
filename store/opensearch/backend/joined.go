package backend

import (
	"errors"

	"example.org/conclave/store"
	"example.org/conclave/store/opensearch"
)

// Join returns several open indexes of one cluster as one corpus, by the names of their collections. It fails if one
// is not of a cluster, they are of different clusters, or their words are analysed differently.
func (*backend) Join(all []store.Backend, names []string) (store.JoinedCorpus, error) {
	var opened []*opensearch.Corpus
	for _, b := range all {
		own, ok := b.(*backend)
		if !ok {
			return nil, errors.New("not all of these collections are in a cluster")
		}
		opened = append(opened, own.Corpus)
	}
	return opensearch.Join(opened, names)
}
