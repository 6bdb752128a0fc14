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

// Manager lists, opens, creates and removes the server's collections for an adapter, as far as the request's caller
// may.
type Manager interface {
	// Collections describes the collections that the caller may use, in the order of their names; only the one in the
	// request's path if that names one.
	Collections() ([]collections.Info, error)
	// Keeper opens a collection until the request ends and returns its engine. It returns a problem if there is none of
	// this name that the caller may use.
	Keeper(name string) (DocumentKeeper, error)
	// CreateCollection creates an empty collection and returns its description.
	CreateCollection(name, description string) (collections.Info, error)
	// RemoveCollection removes a collection with all of its documents.
	RemoveCollection(name string) error
}

// callManager implements Manager for one call: it does what the call's caller may do.
type callManager struct{ call *call }

// Collections returns descriptions of the collections that the caller may use, without what the caller may not see;
// only the one in the request's path if that names one. It returns a problem if they cannot be listed.
func (m callManager) Collections() (out []collections.Info, err error) {
	list, err := m.call.api.getCollections(m.call, none{})
	for _, info := range list.Collections {
		if only := collectionInPath(m.call.r.Context()); only == "" || only == info.Name {
			out = append(out, info)
		}
	}
	return out, err
}

// Keeper implements Manager. The collection is open until the call ends. It fails if there is no such collection, or it
// cannot be opened.
func (m callManager) Keeper(name string) (DocumentKeeper, error) {
	call := *m.call
	err := call.openCollection(name)
	m.call.ends = call.ends
	if err != nil {
		return nil, err
	}
	return call.admittedEngine()
}

// CreateCollection creates a collection as POST /v1/collections does, and returns its description or a problem.
func (m callManager) CreateCollection(name, description string) (info collections.Info, err error) {
	info, err = m.call.api.postCollection(m.call, CollectionRequest{name, collections.Settings{Description: description}})
	m.call.w.Header().Del("Location") // that is of the API
	m.call.status = http.StatusOK
	return info, err
}

// RemoveCollection removes a collection as DELETE /v1/collections/{collection} does. It returns a problem if it cannot.
func (m callManager) RemoveCollection(name string) error {
	m.call.name = name
	_, err := m.call.api.deleteCollection(m.call, none{})
	return err
}

// openForAdapter opens the collections that a request to an adapter names (Adapter.Choose), or else the one in its
// path, and sets c.api to them. chosen is false if nothing was opened: on a server of several collections, if the
// request names none and needs none. It returns a problem if body and path name different collections, there are more
// than mostJoined, or one does not exist for this caller.
func (c *call) openForAdapter(x *Adapter, body []byte) (chosen bool, err error) {
	names, needed := x.Choose(c.r, body)
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	inPath := collectionInPath(c.r.Context())
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
		return true, c.openCollection(names[0])
	}
	if c.api.options.Collections == nil {
		for _, name := range names {
			if name != c.api.options.Name {
				return false, unknownCollection(name)
			}
		}
	}
	return true, c.openCollections(names)
}
