package backend

import (
	"errors"

	"example.org/conclave/store"
	"example.org/conclave/store/folder"
	"example.org/conclave/store/folder/view"
)

// Join returns several collections as one corpus, by their names. They must stay open while it is used. It fails if
// one of the backends is not a collection in a folder, if their words are analysed differently, or if they have too
// many passages together.
func (*backend) Join(all []store.Backend, names []string) (store.JoinedCorpus, error) {
	var opened []*folder.Collection
	for _, b := range all {
		own, ok := b.(*backend)
		if !ok {
			return nil, errors.New("not all of these collections are in folders")
		}
		opened = append(opened, own.opened())
	}
	return view.Join(opened, names)
}
