// Package stores chooses the store of a configuration. It is the one place that knows all kinds of
// stores; everybody else asks a store.Location or a store.Backend.
package stores

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"example.org/conclave/configs"
	"example.org/conclave/store"
	inFolder "example.org/conclave/store/folder/backend"
	"example.org/conclave/store/opensearch"
	inCluster "example.org/conclave/store/opensearch/backend"
	"example.org/conclave/store/opensearch/cluster"
)

// At returns the location of a configuration's passages: a folder, or an index of a cluster. It opens neither. It fails
// if the address or the files of the cluster's access are invalid.
func At(config configs.Config) (store.Location, error) {
	if config.Store == "" {
		return inFolder.At(config.Collection), nil
	}
	if config.Several() {
		if err := opensearch.CheckName(filepath.Base(config.Collection)); err != nil {
			return nil, err
		}
	}
	access, err := accessOf(config.Cluster)
	if err != nil {
		return nil, err
	}
	return inCluster.At(config.Passages(), access, shapeOf(config))
}

// accessOf returns the user, password, key and certificates for requests to a cluster. It reads those that are in
// files, without white space around them, and fails if such a file is missing or empty.
func accessOf(c configs.Cluster) (cluster.Access, error) {
	access := cluster.Access{CA: c.CA, User: c.User, Password: string(c.Password), APIKey: string(c.APIKey)}
	for file, into := range map[string]*string{c.PasswordFile: &access.Password, c.APIKeyFile: &access.APIKey} {
		if file == "" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return access, fmt.Errorf("reading how to access the cluster: %w", err)
		}
		*into = strings.TrimSpace(string(text))
		if *into == "" {
			return access, fmt.Errorf("%s, which says how to access the cluster, is empty", file)
		}
	}
	return access, nil
}

// Experts returns the experts of the configured collection; nil if there is none. In a store whose first indexing has
// not ended they are those that it will have. It fails if the store's address is none, or its manifest cannot be read.
func Experts(ctx context.Context, config configs.Config) ([]store.Expert, error) {
	at, err := At(config)
	if err != nil {
		return nil, err
	}
	return at.Experts(ctx)
}

// Copy copies the collection of one store to another one that has none there, with its vectors, its calibration and
// its settings, and returns what was written. Nothing is encoded. Of the options, Index, Threads and Progress are
// used. The errors are those of both stores; Location.Index says what is left after one.
func Copy(
	ctx context.Context,
	from, to store.Location,
	o store.BuildOptions,
) (report store.BuildReport, err error) {
	b, err := from.Open(ctx, store.OpenOptions{Unprepared: true})
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	all, err := b.Everything(ctx)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, all.Close()) }()
	o.New = true
	o.Words, o.Experts, o.Calibration = all.Words, all.Experts, all.Calibration
	o.Settings = all.Settings
	return to.Index(ctx, all, o)
}

// Settle merges deleted documents of the configured store away, which may take long, and returns its numbers of
// passages and deleted documents before and after. It fails for a folder.
func Settle(ctx context.Context, config configs.Config) (before, after opensearch.Statistics, err error) {
	at, err := At(config)
	if err != nil {
		return before, after, err
	}
	return inCluster.Settle(ctx, at)
}
