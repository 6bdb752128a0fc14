package handlers

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/collections"
)

// Collections manages the collections of a server that has several.
type Collections interface {
	// Use returns a collection, which it opens if it is not open. The collection stays open until done is called; call
	// it if err is nil. An error whose reason callers may know is a *collections.Error.
	Use(ctx context.Context, name string) (k *Collection, done func(), err error)
	// Join returns a collection that searches several as one, which stay open until done is called. Its errors are
	// those of Use, or a *collections.Error if they cannot be searched as one.
	Join(ctx context.Context, names []string) (k *Collection, done func(), err error)
	// List returns descriptions of all collections, in the order of their names.
	List(ctx context.Context) ([]collections.Info, error)
	// Describe opens a collection and returns its description. A damaged one is described as such.
	Describe(ctx context.Context, name string) (collections.Info, error)
	// Create makes an empty collection and returns its description. After an error there is no part of it.
	Create(ctx context.Context, name string, s collections.Settings) (collections.Info, error)
	// Remove closes a collection and removes its passages, documents and settings.
	Remove(ctx context.Context, name string) error
}

// CollectionRequest is the body of POST /v1/collections.
type CollectionRequest struct {
	Name string `json:"name"`
	collections.Settings
}

// CollectionList is the answer of GET /v1/collections.
type CollectionList struct {
	Collections []collections.Info `json:"collections"`
	Default     string             `json:"default"`
	Several     bool               `json:"several"` // whether the server serves a folder of them
}

// getCollections answers GET /v1/collections with descriptions of the collections that the caller's key may use. It
// returns a problem if they cannot be listed.
func (a *API) getCollections(c *call, _ none) (list CollectionList, err error) {
	list = CollectionList{Collections: []collections.Info{}, Default: a.options.Name}
	list.Several = a.options.Collections != nil
	all := []collections.Info{c.describeOnly()}
	if a.options.Collections != nil {
		all, err = a.options.Collections.List(c.r.Context())
	}
	for _, info := range all {
		if c.mayUse(info.Name) {
			list.Collections = append(list.Collections, c.visibleInfo(info))
		}
	}
	return list, err
}

// describeOnly returns the description of the collection of a server that has only one. While the engine is not loaded,
// its status is collections.Opening, without numbers and experts.
func (c *call) describeOnly() collections.Info {
	info := collections.Info{Name: c.api.options.Name, Status: collections.Opening, Default: true}
	if engine, err := c.admittedEngine(); err == nil {
		info.Status = collections.Opened
		generation, passages := engine.Generation()
		info.Generation, info.Passages = &generation, &passages
		for _, x := range engine.Experts() {
			info.Experts = append(info.Experts, x.Name)
		}
	}
	return info
}

// getCollection answers GET /v1/collections/{collection} with a description of the collection. If it is open, the
// description has the languages and fields of a sample of its passages. It returns a problem if there is no such
// collection, or the caller's key may not use it, which looks the same.
func (a *API) getCollection(c *call, _ none) (info CollectionInfo, err error) {
	switch {
	case !c.mayUse(c.name), a.options.Collections == nil && c.name != a.options.Name:
		return info, unknownCollection(c.name)
	case a.options.Collections == nil:
		info.Info = c.describeOnly()
	default:
		info.Info, err = a.options.Collections.Describe(c.r.Context(), c.name)
		if err != nil {
			return info, collectionProblem(err)
		}
	}
	info.Info = c.visibleInfo(info.Info)
	if info.Status != collections.Opened {
		return info, nil
	}
	if err := c.openCollection(c.name); err != nil {
		return info, err
	}
	return c.describeSampled(info)
}

// postCollection answers POST /v1/collections: it creates an empty collection, and returns its description with 201 and
// Location. It returns a problem if the server cannot create collections, the key may not, or its quotas are used up.
func (a *API) postCollection(c *call, r CollectionRequest) (info collections.Info, err error) {
	if err := a.checkManages(); err != nil {
		return info, err
	}
	if !c.mayUse(r.Name) {
		return info, schema.NewProblem("insufficient_scope", "The key may not be used for a collection of this name.")
	}
	if err := a.allotQuotas(c, &r.Quotas); err != nil {
		return info, err
	}
	info, err = a.options.Collections.Create(c.r.Context(), r.Name, r.Settings)
	if err != nil {
		return info, collectionProblem(err)
	}
	c.status = http.StatusCreated
	c.w.Header().Set("Location", front.BasePath(c.r.Context())+schema.CollectionsPath+url.PathEscape(info.Name))
	return info, nil
}

// allotQuotas gives a new collection the quotas of the caller's key, if the request has none (q is changed). It does
// nothing for a caller without a key. It returns a problem if the request asks for more than the key has, or the key
// has as many collections as it may.
func (a *API) allotQuotas(c *call, q *collections.Quotas) error {
	key := front.ExchangeOf(c.r.Context()).Key
	if key == nil {
		return nil
	}
	if key.MostCollections > 0 {
		all, err := a.options.Collections.List(c.r.Context())
		if err != nil {
			return collectionProblem(err)
		}
		all = slices.DeleteFunc(all, func(info collections.Info) bool { return !key.IsFor(info.Name) })
		if len(all) >= key.MostCollections {
			return schema.NewProblem("quota_exceeded", fmt.Sprintf(
				"The key may have %d collections, and has %d: remove one first.", key.MostCollections, len(all)))
		}
	}
	for _, quota := range []struct {
		asked, most int64
		unit        string
	}{{int64(q.Passages), int64(key.Quotas.Passages), "passages"}, {q.Bytes, key.Quotas.Bytes, "bytes"}} {
		if quota.most > 0 && quota.asked > quota.most {
			return schema.NewProblem("quota_exceeded",
				fmt.Sprintf("A collection made with this key may have at most %d %s, and the request asks for %d.", quota.most, quota.unit, quota.asked),
				schema.ProblemField{Pointer: "/quotas/" + quota.unit, Detail: fmt.Sprintf("is beyond %d", quota.most)})
		}
	}
	q.Passages = cmp.Or(q.Passages, key.Quotas.Passages)
	q.Bytes = cmp.Or(q.Bytes, key.Quotas.Bytes)
	return nil
}

// deleteCollection answers DELETE /v1/collections/{collection}: it removes the collection with all of its documents. It
// returns a problem if there is none that the key may use, or the server cannot remove collections.
func (a *API) deleteCollection(c *call, _ none) (none, error) {
	if !c.mayUse(c.name) {
		return none{}, unknownCollection(c.name)
	}
	if err := a.checkManages(); err != nil {
		return none{}, err
	}
	return none{}, collectionProblem(a.options.Collections.Remove(c.r.Context(), c.name))
}

// checkManages returns a problem if collections cannot be created and removed on this server; nil if they can.
func (a *API) checkManages() error {
	switch {
	case a.options.Collections == nil:
		return schema.NewProblem("one_collection", "This server has one collection. "+
			"To make and remove collections, let it serve a folder of collections.")
	case a.options.ReadOnly:
		return schema.NewProblem("read_only", "This server only reads its collections.")
	}
	return nil
}
