package stores

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.org/conclave/ann"
	"example.org/conclave/configs"
	"example.org/conclave/internal/collections"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch"
	inCluster "example.org/conclave/store/opensearch/backend"
	"example.org/conclave/store/opensearch/schema"
)

// indexes is the Catalogue of a cluster.
type indexes struct {
	config configs.Config
	*inCluster.Cluster
}

// openCluster connects to the cluster of a configuration and returns its collections. It fails if no node answers.
func openCluster(ctx context.Context, config configs.Config) (Catalogue, error) {
	access, err := accessOf(config.Cluster)
	if err != nil {
		return nil, err
	}
	c, err := inCluster.OpenCluster(ctx, prefixOf(config.Store), access, shapeOf(config))
	if err != nil {
		return nil, err
	}
	return &indexes{config, c}, nil
}

// shapeOf returns the shape of new indexes by a configuration.
func shapeOf(config configs.Config) schema.Shape {
	return schema.Shape{Shards: config.Cluster.Shards, Replicas: config.Cluster.Replicas}
}

// listedEntry returns the description of a collection from its index in a cluster. If the index or its settings cannot
// be read, Err is set and only Name is sure.
func listedEntry(e opensearch.Entry) ListedCollection {
	if e.Err != nil {
		return ListedCollection{Name: e.Name, Err: e.Err}
	}
	return listedWith(e.Name, []byte(e.Manifest.Settings))
}

// List describes the collections by one request to the cluster, in the order that the cluster's List has. With an
// error it returns those that are known.
func (x *indexes) List(ctx context.Context) ([]ListedCollection, error) {
	all, err := x.Cluster.List(ctx)
	var out []ListedCollection
	for _, e := range all {
		out = append(out, listedEntry(e))
	}
	return out, err
}

// Find returns the name, settings and state of the collection with this name; nil, without an error, if there is none.
// If its index or settings cannot be read, Err of what it returns says so, and only the name is sure. It fails if the
// cluster does not answer.
func (x *indexes) Find(ctx context.Context, name string) (*ListedCollection, error) {
	e, err := x.Cluster.Find(ctx, name)
	if e == nil || err != nil {
		return nil, err
	}
	l := listedEntry(*e)
	return &l, nil
}

// Examine returns what List returns: the entries of the indexes say already which collections cannot be opened. It does
// not look at the state of their shards, which Conditions returns.
func (x *indexes) Examine(ctx context.Context) ([]ListedCollection, error) { return x.List(ctx) }

// At returns the configuration and the location of a collection, which need not exist. It fails if none can have
// the name.
func (x *indexes) At(name string) (configs.Config, store.Location, error) {
	config := x.config
	config.Store = prefixOf(config.Store) + name
	at, err := x.Cluster.At(name)
	return config, at, err
}

// Create makes a collection without passages. The error is a *collections.Error if the name, the kind of index or
// an expert is not possible in a cluster, or the name is taken; other errors are those of the cluster.
func (x *indexes) Create(ctx context.Context, name string, s collections.Settings, o store.BuildOptions) error {
	if err := x.CheckName(name); err != nil {
		return &collections.Error{Code: collections.Invalid, Detail: err.Error()}
	}
	if s.Index != "" && s.Index != ann.HNSW {
		return &collections.Error{Code: collections.NoValue, Detail: fmt.Sprintf(
			"index is %q, and a cluster has one kind of vector index, its own of %s: leave it out", s.Index, ann.HNSW)}
	}
	if err := x.CheckExperts(o.Experts); err != nil {
		return &collections.Error{Code: collections.NoValue, Detail: err.Error()}
	}
	settings, err := collections.Format(s, time.Now())
	if err != nil {
		return err
	}
	err = x.Cluster.Create(ctx, name, string(settings), o)
	if errors.Is(err, opensearch.ErrExists) {
		return &collections.Error{Code: collections.Exists, Detail: fmt.Sprintf("there is a collection %q already, or another index by its name", name)}
	}
	return err
}

// Remove removes a collection. The error is a *collections.Error if there is none.
func (x *indexes) Remove(ctx context.Context, name string) error {
	e, err := x.Cluster.Find(ctx, name)
	if err != nil {
		return err
	}
	if e == nil {
		return collections.UnknownError(name)
	}
	return x.Cluster.Remove(ctx, name)
}
