package stores

import (
	"context"
	"strings"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/internal/collections"
	"example.org/conclave/store"
)

// Catalogue is the collections of a server that has several: the folders of a data folder, or the indexes of a
// cluster with a prefix. Errors are *collections.Error where whoever asked may know why. Its methods may be called
// by several goroutines.
type Catalogue interface {
	// List describes all, in the order of their names, by what is cheap to read.
	List(ctx context.Context) ([]Listed, error)
	// Find describes one; nil where there is none.
	Find(ctx context.Context, name string) (*Listed, error)
	// Examine describes all as List does, and says of more why they cannot be opened.
	Examine(ctx context.Context) ([]Listed, error)
	// Conditions returns how the store of all is, and each one by its name. Nil: nothing but their files can fail them.
	Conditions(ctx context.Context) (whole store.Condition, of map[string]store.Condition)
	// At returns the configuration that one is served by, but for its settings, and where it is kept.
	At(name string) (configs.Config, store.Location, error)
	// Bytes returns how many one takes.
	Bytes(ctx context.Context, name string) (int64, error)

	// Create makes one without passages, of which the options say the experts and the words; it is there whole, or
	// not at all, whatever happens.
	Create(ctx context.Context, name string, s collections.Settings, o store.BuildOptions) error
	// Remove removes one, which this process does not use any more, with all that is beside it.
	Remove(ctx context.Context, name string) error

	// Observe has a function called after each request to another machine, by several at the same time. It is to
	// be set before anything else.
	Observe(func(store.Exchange))
}

// Listed is a collection of a catalogue.
type Listed struct {
	Name     string
	Settings collections.Settings
	Created  time.Time // zero where it was not made by Create
	Err      error     // why it cannot be used, as far as it is known; nil: nothing is known against it
}

// OpenCatalogue opens that of a configuration: what somebody was interrupted in is finished. A cluster has to answer.
func OpenCatalogue(ctx context.Context, config configs.Config) (Catalogue, error) {
	if config.Data == "" {
		return openCluster(ctx, config)
	}
	return openFolder(config)
}

// listedWith describes a collection by the text of its settings.
func listedWith(name string, settings []byte) Listed {
	l := Listed{Name: name}
	l.Settings, l.Created, l.Err = collections.Parse(settings)
	return l
}

// prefixOf returns the address of a store without the star at its end.
func prefixOf(store string) string { return strings.TrimSuffix(store, configs.AnyIndex) }
