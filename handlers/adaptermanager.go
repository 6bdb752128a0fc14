package handlers

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/wording"
)

// Manager is the server's collections as an adapter's caller may see and change them.
type Manager interface {
	// Collections describes those that the caller may use, by name: where the path names one, that alone.
	Collections() ([]collections.Info, error)
	// Keeper returns one, whose documents can be asked for.
	Keeper(name string) (DocumentKeeper, error)
	// CreateCollection makes one, and RemoveCollection removes one.
	CreateCollection(name, description string) (collections.Info, error)
	RemoveCollection(name string) error
}

// managing is a call as a Manager.
type managing struct{ call *call }

// Collections implements Manager.
func (m managing) Collections() (out []collections.Info, err error) {
	list, err := m.call.api.getCollections(m.call, none{})
	for _, info := range list.Collections {
		if only := named(m.call.r.Context()); only == "" || only == info.Name {
			out = append(out, info)
		}
	}
	return out, err
}

// Keeper implements Manager. The collection is open until the call ends.
func (m managing) Keeper(name string) (DocumentKeeper, error) {
	of := *m.call
	err := of.choose(name)
	m.call.ends = of.ends
	if err != nil {
		return nil, err
	}
	return of.engine()
}

// CreateCollection implements Manager.
func (m managing) CreateCollection(name, description string) (info collections.Info, err error) {
	info, err = m.call.api.postCollection(m.call, CollectionRequest{name, collections.Settings{Description: description}})
	m.call.w.Header().Del("Location") // that is of the API
	m.call.status = http.StatusOK
	return info, err
}

// RemoveCollection implements Manager.
func (m managing) RemoveCollection(name string) error {
	m.call.name = name
	_, err := m.call.api.deleteCollection(m.call, none{})
	return err
}

// chooseFor finds the collections of a request to an adapter that names them in its own way: those, or the one that
// the path names, which have to be the same. chosen is false where none is needed.
func (c *call) chooseFor(x *Adapter, body []byte) (chosen bool, err error) {
	names, needed := x.Choose(c.r, body)
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	inPath := named(c.r.Context())
	switch {
	case len(names) == 0 && !needed && inPath == "":
		return c.api.options.Collections == nil, nil
	case len(names) == 0:
		names = []string{cmp.Or(inPath, c.api.options.Name)}
	case inPath != "" && !slices.Equal(names, []string{inPath}):
		return false, schema.NewProblem(collections.Unknown, fmt.Sprintf("There is no collection %s below %s.",
			wording.Quote(strings.Join(names, ", ")), wording.Quote(inPath)))
	}
	if len(names) > mostJoined {
		return false, tooManyCollections(len(names))
	}
	if len(names) == 1 {
		return true, c.choose(names[0])
	}
	if c.api.options.Collections == nil {
		for _, name := range names {
			if name != c.api.options.Name {
				return false, unknownCollection(name)
			}
		}
	}
	return true, c.chooseSome(names)
}
