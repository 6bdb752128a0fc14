package stores

import (
	"context"
	"strings"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/internal/collections"
	"example.org/conclave/store"
)

// Catalogue is the collections of a server that has several: the folders of a data folder, or the indexes of a cluster
// whose names begin with a prefix. An error that callers may be told is a *collections.Error. Its methods may be called
// by several goroutines.
type Catalogue interface {
	// List describes all collections, in the order of their names, by what is cheap to read.
	List(ctx context.Context) ([]ListedCollection, error)
	// Find describes one collection; nil if there is none.
	Find(ctx context.Context, name string) (*ListedCollection, error)
	// Examine describes all collections as List does, and sets Err of more that cannot be opened.
	Examine(ctx context.Context) ([]ListedCollection, error)
	// Conditions returns the condition of the store as a whole, and of each collection by its name. byName is nil for
	// a data folder: only its files can fail.
	Conditions(ctx context.Context) (whole store.Condition, byName map[string]store.Condition)
	// At returns the configuration with which a collection is served, without the collection's own settings, and where
	// it is kept.
	At(name string) (configs.Config, store.Location, error)
	// Bytes returns how many bytes a collection takes.
	Bytes(ctx context.Context, name string) (int64, error)

	// Create makes a collection without passages, with the experts and words of the options. After a crash it is there
	// as a whole, or not at all.
	Create(ctx context.Context, name string, s collections.Settings, o store.BuildOptions) error
	// Remove removes a collection, which this process must not have open, with everything that belongs to it.
	Remove(ctx context.Context, name string) error

	// Observe sets a function that is called after each request to another machine, by several goroutines at the same
	// time. Call it before any other method.
	Observe(func(store.Exchange))
}

// ListedCollection is the description of a collection in a Catalogue.
type ListedCollection struct {
	Name     string
	Settings collections.Settings
	Created  time.Time // zero where it was not made by Create
	Err      error     // why it cannot be used, as far as it is known; nil: nothing is known against it
}

// OpenCatalogue opens the collections of a configuration: those of its data folder, or of its cluster if Data is "". It
// fails if no node of the cluster answers, or the data folder cannot be opened. Unless the configuration is read-only,
// it makes a missing data folder, and finishes interrupted changes in it.
func OpenCatalogue(ctx context.Context, config configs.Config) (Catalogue, error) {
	if config.Data == "" {
		return openCluster(ctx, config)
	}
	return openFolder(config)
}

// listedWith returns the description of a collection with the text of its settings; Err is set if they cannot be read.
func listedWith(name string, settings []byte) ListedCollection {
	l := ListedCollection{Name: name}
	l.Settings, l.Created, l.Err = collections.Parse(settings)
	return l
}

// prefixOf returns the address of a store without the * at its end.
func prefixOf(store string) string { return strings.TrimSuffix(store, configs.AnyIndex) }
