package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.org/conclave/ann"
	"example.org/conclave/calibration"
	"example.org/conclave/configs"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
	"example.org/conclave/store/opensearch"
)

// clusterOf returns a client of the configured store's cluster, which answers, and the name of
// its index.
func clusterOf(ctx context.Context, config configs.Config) (*opensearch.Client, string, error) {
	a, err := opensearch.ParseAddress(config.Store)
	if err != nil {
		return nil, "", err
	}
	access := opensearch.Access{
		CA:       config.Cluster.CA,
		User:     config.Cluster.User,
		Password: string(config.Cluster.Password),
		APIKey:   string(config.Cluster.APIKey),
	}
	for file, into := range map[string]*string{config.Cluster.PasswordFile: &access.Password,
		config.Cluster.APIKeyFile: &access.APIKey} {
		if file == "" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, "", fmt.Errorf("reading how to access the cluster: %w", err)
		}
		*into = strings.TrimSpace(string(text))
		if *into == "" {
			return nil, "", fmt.Errorf("%s, which says how to access the cluster, is empty", file)
		}
	}
	client, err := opensearch.NewClient(a.Nodes, access)
	if err != nil {
		return nil, "", err
	}
	if err := client.Connect(ctx); err != nil {
		return nil, "", fmt.Errorf("the store %s: %w", config.Store, err)
	}
	return client, a.Index, nil
}

// OpenStore opens the configured store.
func OpenStore(ctx context.Context, config configs.Config) (*opensearch.Store, error) {
	client, index, err := clusterOf(ctx, config)
	if err != nil {
		return nil, err
	}
	return opensearch.Open(ctx, client, index)
}

// loadStore does what load does for the configured store.
func (a *Assembly) loadStore() error {
	if n := a.options.Config.Limits.Candidates; n > opensearch.MostCandidates {
		return fmt.Errorf(
			"limits.candidates is %d, and a cluster gives at most %d hits of a source: set it to %d or less",
			n,
			opensearch.MostCandidates,
			opensearch.MostCandidates,
		)
	}
	ctx, cancel := context.WithTimeout(context.Background(), openingStore)
	defer cancel()
	stored, err := OpenStore(ctx, a.options.Config)
	if err != nil {
		return err
	}
	a.Store, err = opensearch.NewCorpus(ctx, stored)
	if err != nil {
		return fmt.Errorf("opening the store %s: %w", stored.Index(), err)
	}
	if err := a.Store.ReadSample(ctx); err != nil {
		return fmt.Errorf("reading a sample of the store %s: %w", stored.Index(), err)
	}
	reading, stop := context.WithTimeout(ctx, firstWords)
	defer stop()
	if err := a.Store.ReadWords(reading); err != nil { // a server goes on trying
		a.options.Log.Warn("questions are taken as they are typed", "cause", err)
	}
	return a.loadExperts(expertsOf(stored.Manifest()), stored.Manifest().CheckEncoders)
}

// openingStore is how long the cluster has to say what a store is, and firstWords of this how
// its words are written.
const (
	openingStore = time.Minute
	firstWords   = 15 * time.Second
)

// StoredIn returns the experts of the configured collection or store; nil where there is
// none. Of a store whose indexing has not ended they are those that it will have.
func StoredIn(ctx context.Context, config configs.Config) ([]store.Expert, error) {
	if config.Store == "" {
		return StoredExperts(config.Collection)
	}
	client, index, err := clusterOf(ctx, config)
	if err != nil {
		return nil, err
	}
	m, err := opensearch.Planned(ctx, client, index)
	if errors.Is(err, opensearch.ErrNoIndex) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return expertsOf(m), nil
}

// StoredExperts returns the experts of the collection in a folder; nil where there is no
// collection yet, which is different from one without experts.
func StoredExperts(dir string) ([]store.Expert, error) {
	c, err := folder.Open(dir)
	if errors.Is(err, folder.ErrNotCollection) || errors.Is(err, folder.ErrUnfinished) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	g := c.Acquire()
	defer g.Release()
	return append([]store.Expert{}, g.Experts()...), nil
}

// expertsOf returns the experts of a store as those of a collection.
func expertsOf(m *opensearch.Manifest) []store.Expert {
	out := []store.Expert{}
	for _, x := range m.Experts {
		f := store.Expert{Name: x.Name, Fingerprint: x.Fingerprint, Dimension: x.Dimension, Owner: x.Owner}
		if x.Late {
			f.Index.Kind = ann.Late
		}
		out = append(out, f)
	}
	return out
}

// Passages find passages by their ids.
type Passages interface {
	Ordinal(id string) (rank.Ordinal, bool, error)
}

// Passages returns those that searches see. done is to be called when they are not needed
// any more.
func (a *Assembly) Passages(ctx context.Context) (p Passages, done func()) {
	if a.Store != nil {
		return storedPassages{ctx, a.Store.Acquire().Passages()}, func() {}
	}
	g := a.Collection.Acquire()
	return g, g.Release
}

// IDs returns those of passages, in their order.
func (a *Assembly) IDs(ctx context.Context, passages []rank.Ordinal) ([]string, error) {
	v := a.corpus().Acquire()
	defer v.Release()
	read, err := v.Passages().Read(ctx, passages)
	ids := make([]string, len(read))
	for i, p := range read {
		ids[i] = p.ID
	}
	return ids, err
}

// storedPassages ask a store.
type storedPassages struct {
	ctx context.Context
	of  search.Passages
}

func (p storedPassages) Ordinal(id string) (rank.Ordinal, bool, error) {
	return p.of.Ordinal(p.ctx, id)
}

// indexStore does what Index does into the configured store, with the opened experts.
func indexStore(ctx context.Context, o IndexOptions, made *Indexed) (err error) {
	client, index, err := clusterOf(ctx, o.Config)
	if err != nil {
		return err
	}
	var report opensearch.Report
	if len(o.Inputs) == 0 {
		for _, x := range o.Build.Experts {
			report, err = opensearch.AddExpert(ctx, client, index, x, o.Build)
			if err != nil {
				return err
			}
		}
	} else {
		source, err := corpus.OpenSeries(o.Inputs)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, source.Close()) }()
		from, build, err := watchCrowding(ctx, client, index, o, source)
		if err != nil {
			return err
		}
		if o.Share.Of > 0 {
			report, err = opensearch.BuildShare(ctx, client, index, shapeIn(o.Config), o.Share, from, build)
		} else {
			report, err = opensearch.Build(ctx, client, index, shapeIn(o.Config), from, build, "")
		}
		if err != nil {
			return err
		}
	}
	made.BuildReport, made.There = report.BuildReport, report.There
	return nil
}

// RemoveExpert removes an expert's vectors from the configured collection or store.
func RemoveExpert(ctx context.Context, config configs.Config, expert string) error {
	if config.Store == "" {
		return folder.RemoveExpert(ctx, config.Collection, expert)
	}
	client, index, err := clusterOf(ctx, config)
	if err != nil {
		return err
	}
	return opensearch.RemoveExpert(ctx, client, index, expert)
}

func shapeIn(config configs.Config) opensearch.Shape {
	return opensearch.Shape{Shards: config.Cluster.Shards, Replicas: config.Cluster.Replicas}
}

// Export writes a collection into the configured store, which must not be there, or be
// what an interrupted Export of it left. Nothing is encoded.
func Export(
	ctx context.Context,
	config configs.Config,
	progress func(store.Progress),
) (report opensearch.Report, err error) {
	client, index, err := clusterOf(ctx, config)
	if err != nil {
		return report, err
	}
	c, err := folder.Open(config.Collection)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	g := c.Acquire()
	defer g.Release()
	experts, err := g.StoredEncoders()
	if err != nil {
		return report, fmt.Errorf("%s: %w", config.Collection, err)
	}
	record, err := os.ReadFile(filepath.Join(config.Collection, calibration.RecordFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return report, err
	}
	return opensearch.Build(ctx, client, index, shapeIn(config), g.Source(),
		store.BuildOptions{Words: g.WordParams(), Experts: experts, Progress: progress}, string(record))
}

// ExportPassages writes the passages of the configured store as JSON Lines.
func ExportPassages(ctx context.Context, config configs.Config, to io.Writer) error {
	stored, err := OpenStore(ctx, config)
	if err != nil {
		return err
	}
	return stored.ExportPassages(ctx, to)
}

// Import makes a collection of the configured store. Nothing is encoded.
func Import(ctx context.Context, config configs.Config, o store.BuildOptions) (report store.BuildReport, err error) {
	stored, err := OpenStore(ctx, config)
	if err != nil {
		return report, err
	}
	scan, err := stored.Scan(ctx)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, scan.Close()) }()
	o.Words = stored.Manifest().Words.Params()
	o.Experts = stored.Encoders()
	report, err = folder.Build(ctx, config.Collection, scan, o)
	if err != nil {
		return report, err
	}
	if record := stored.Manifest().Calibration; record != "" {
		err = calibration.PutRecord(config.Collection, []byte(record))
	}
	return report, err
}

// Settle merges away what was deleted from the configured store, and says how much of it
// still counted before and counts after.
func Settle(ctx context.Context, config configs.Config) (before, after opensearch.Statistics, err error) {
	stored, err := OpenStore(ctx, config)
	if err != nil {
		return before, after, err
	}
	before, err = stored.Statistics(ctx)
	if err != nil {
		return before, after, err
	}
	if err := stored.Settle(ctx); err != nil {
		return before, after, err
	}
	after, err = stored.Statistics(ctx)
	return before, after, err
}
