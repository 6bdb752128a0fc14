package stores

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
	inFolder "example.org/conclave/store/folder/backend"
)

// folders is the Catalogue of a data folder.
type folders struct {
	config configs.Config
	folder *collections.Folder
}

// openFolder opens the data folder of a configuration. Unless the configuration is read-only, it makes a missing folder
// and finishes interrupted changes. It fails if the folder cannot be made or changed, or a read-only configuration has
// none.
func openFolder(config configs.Config) (Catalogue, error) {
	folder, err := collections.OpenFolder(disk.OS{}, config.Data, !config.ReadOnly)
	if err != nil {
		return nil, err
	}
	return &folders{config, folder}, nil
}

// List returns the name and settings of each collection, sorted by name. It fails if the data folder cannot be read;
// what is wrong with a single collection is in its entry.
func (f *folders) List(context.Context) ([]ListedCollection, error) {
	names, err := f.folder.Names()
	if err != nil {
		return nil, err
	}
	out := make([]ListedCollection, len(names))
	for i, name := range names {
		out[i] = f.listedFolder(name)
	}
	return out, nil
}

// listedFolder returns the description of a collection; Err is set if its settings cannot be read.
func (f *folders) listedFolder(name string) ListedCollection {
	l := ListedCollection{Name: name}
	l.Settings, l.Created, l.Err = collections.Read(f.folder.Disk(), f.folder.Path(name))
	return l
}

// Find returns the name and settings of the collection with this name; nil, without an error, if there is none. It
// fails if the data folder cannot be read; settings that cannot be read are in the result's Err.
func (f *folders) Find(_ context.Context, name string) (*ListedCollection, error) {
	has, err := f.folder.Has(name)
	if !has || err != nil {
		return nil, err
	}
	l := f.listedFolder(name)
	return &l, nil
}

// Examine describes the collections, and sets Err of those that cannot be opened, by their manifests. It fails if the
// collections cannot be listed.
func (f *folders) Examine(ctx context.Context) ([]ListedCollection, error) {
	all, err := f.List(ctx)
	for i := range all {
		if all[i].Err == nil {
			all[i].Err = f.checkOpenable(ctx, all[i].Name)
		}
	}
	return all, err
}

// checkOpenable returns an error if a collection certainly cannot be opened: its manifest cannot be read, or it has
// none.
func (f *folders) checkOpenable(ctx context.Context, name string) error {
	path := f.folder.Path(name)
	stored, err := inFolder.At(path).Experts(ctx)
	if err == nil && stored == nil {
		return fmt.Errorf("%s is no whole collection: its first indexing goes on, or was interrupted", path)
	}
	return err
}

// At returns the configuration and the location of a collection, which need not exist. Its snapshots are in a
// folder of its own. The error is always nil.
func (f *folders) At(name string) (configs.Config, store.Location, error) {
	config := f.config
	config.Collection = f.folder.Path(name)
	if config.Snapshots != "" {
		config.Snapshots = filepath.Join(config.Snapshots, name)
	} else {
		config.Snapshots = f.folder.Snapshots(name)
	}
	return config, inFolder.At(config.Collection), nil
}

// Create makes a collection without passages. The error is a *collections.Error if the name is invalid or taken.
func (f *folders) Create(ctx context.Context, name string, s collections.Settings, o store.BuildOptions) error {
	return f.folder.Create(name, s, time.Now(), func(dir string) error {
		_, err := inFolder.At(dir).Index(ctx, nil, o)
		return err
	})
}

// Remove removes a collection and its snapshots. The error is a *collections.Error if there is none.
func (f *folders) Remove(_ context.Context, name string) error { return f.folder.Remove(name) }

// Conditions returns the zero Condition and nil: nothing but this machine's files can fail.
func (f *folders) Conditions(context.Context) (store.Condition, map[string]store.Condition) {
	return store.Condition{}, nil
}

// Observe does nothing: no other machine is asked.
func (f *folders) Observe(func(store.Exchange)) {}

// Bytes returns the total size of the collection's regular files; 0 if there is no collection. Files that are removed
// meanwhile do not count. It fails if a folder cannot be read.
func (f *folders) Bytes(_ context.Context, name string) (bytes int64, err error) {
	err = filepath.WalkDir(f.folder.Path(name), func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it is merged away
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if info, err := d.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes, err
}
