package backend

import (
	"errors"

	"example.org/conclave/store"
	"example.org/conclave/store/folder"
	"example.org/conclave/store/folder/view"
)

// Join shows collections in folders, by their names, as one corpus. Other stores are an error.
func Join(all []store.Backend, names []string) (*view.Joined, error) {
	var opened []*folder.Collection
	for _, b := range all {
		own, ok := b.(*backend)
		if !ok {
			return nil, errors.New("collections in a cluster are searched one by one")
		}
		opened = append(opened, own.opened())
	}
	return view.Join(opened, names)
}
