// Package backend is an index of an OpenSearch cluster as a store (store.Location, store.Backend).
package backend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.org/conclave/ann"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// location is an index of a cluster, which may not be there yet (store.Location).
type location struct {
	address string // for people
	cluster cluster.Address
	access  cluster.Access
	shape   schema.Shape
	client  *cluster.Client // that others use, too; nil: one is made
}

// At returns the location of an index. address is read by cluster.ParseAddress, access is how requests are
// authorised, and shape is that of a new index. No request is made. It fails if the address cannot be parsed.
func At(address string, access cluster.Access, shape schema.Shape) (store.Location, error) {
	a, err := cluster.ParseAddress(address)
	if err != nil {
		return nil, err
	}
	return &location{address: address, cluster: a, access: access, shape: shape}, nil
}

// connect returns a client of the cluster: the one that others use, or a new one after a node has answered. It fails
// if none answers.
func (l *location) connect(ctx context.Context) (*cluster.Client, error) {
	if l.client != nil {
		return l.client, nil
	}
	client, err := cluster.NewClient(l.cluster.Nodes, l.access)
	if err != nil {
		return nil, err
	}
	if err := client.Connect(ctx); err != nil {
		return nil, fmt.Errorf("the store %s: %w", l.address, err)
	}
	return client, nil
}

// openStore opens the index for searching. It fails if the cluster does not answer or the index is not there or not
// finished.
func (l *location) openStore(ctx context.Context) (*opensearch.Store, error) {
	client, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	return opensearch.Open(ctx, client, l.cluster.Index)
}

// planned returns the manifest that the index has, or will have when the indexing under way ends; nil if there is no
// index. It fails if the cluster does not answer.
func (l *location) planned(ctx context.Context) (*schema.Manifest, error) {
	client, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	m, err := opensearch.Planned(ctx, client, l.cluster.Index)
	if errors.Is(err, opensearch.ErrNoIndex) {
		return nil, nil
	}
	return m, err
}

// Experts returns the experts of the index's manifest, also of one whose indexing has not ended; nil if there is no
// index. It fails if the cluster does not answer.
func (l *location) Experts(ctx context.Context) ([]store.Expert, error) {
	m, err := l.planned(ctx)
	if m == nil || err != nil {
		return nil, err
	}
	return expertsOf(m), nil
}

// Words returns the constants of BM25 that the index was made with; the zero value if there is no index. It fails if
// the cluster does not answer.
func (l *location) Words(ctx context.Context) (store.WordConstants, error) {
	m, err := l.planned(ctx)
	if m == nil || err != nil {
		return store.WordConstants{}, err
	}
	return m.Words.Params(), nil
}

// Settings returns the text of the settings in the index's manifest; nil if there is no index or it has none. It fails
// if the cluster does not answer.
func (l *location) Settings(ctx context.Context) ([]byte, error) {
	m, err := l.planned(ctx)
	return settingsOf(m), err
}

// expertsOf returns the experts of a manifest, in its order, without recall; empty and not nil if there are none.
func expertsOf(m *schema.Manifest) []store.Expert {
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

// Sample returns random passages, n at most and as many as a corpus samples; none if there is no index, or its first
// indexing has not ended. It fails if the cluster does not answer.
func (l *location) Sample(ctx context.Context, n int) ([]corpus.Passage, error) {
	stored, err := l.openStore(ctx)
	if errors.Is(err, opensearch.ErrNoIndex) || errors.Is(err, schema.ErrUnfinished) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return stored.RandomPassages(ctx, n)
}

// Index adds the passages of a source to the index, which it makes, with o.Calibration, if there is none. It then keeps
// o.Settings unless they are nil. With o.Share it adds one share of the passages, beside other processes, and keeps
// neither calibration nor settings. It fails if the cluster does, or an encoder, or source.
func (l *location) Index(
	ctx context.Context,
	source store.Stream,
	o store.BuildOptions,
) (report store.BuildReport, err error) {
	client, err := l.connect(ctx)
	if err != nil {
		return report, err
	}
	if o.Share.Of > 0 {
		return opensearch.BuildShare(ctx, client, l.cluster.Index, l.shape, o.Share, source, o)
	}
	report, err = opensearch.Build(ctx, client, l.cluster.Index, l.shape, source, o, string(o.Calibration))
	if err != nil || o.Settings == nil {
		return report, err
	}
	stored, err := l.openStore(ctx)
	if err != nil {
		return report, err
	}
	return report, stored.Configure(ctx, string(o.Settings))
}

// AddExpert encodes all passages of the index with one more expert. It fails with a *lease.HeldError if another
// process indexes or changes the experts, and with opensearch.ErrHasExpert or schema.ErrUnfinished. A call after an
// interruption goes on.
func (l *location) AddExpert(
	ctx context.Context,
	e store.PassageEncoder,
	o store.BuildOptions,
) (report store.BuildReport, err error) {
	client, err := l.connect(ctx)
	if err != nil {
		return report, err
	}
	return opensearch.AddExpert(ctx, client, l.cluster.Index, e, o)
}

// RemoveExpert takes an expert out of the index's manifest. Its vectors stay in the documents until these are written
// again. It fails with a *lease.HeldError if another process indexes, or adds or removes an expert, and if the index
// has no such expert or the cluster does not answer.
func (l *location) RemoveExpert(ctx context.Context, name string) error {
	client, err := l.connect(ctx)
	if err != nil {
		return err
	}
	return opensearch.RemoveExpert(ctx, client, l.cluster.Index, name)
}

// CheckParts returns an error always: an index has no vectors of parts of passages.
func (l *location) CheckParts() error {
	return errors.New(
		"a store has one vector of an expert a passage: leave granularities out, or keep the passages in a folder",
	)
}

// Folder returns "": the passages take no space of this machine.
func (l *location) Folder() string { return "" }

// Shards returns the number of shards of the index; if there is none, that of the one that Index would make. It fails
// if the cluster does not answer.
func (l *location) Shards(ctx context.Context) (int, error) {
	client, err := l.connect(ctx)
	if err != nil {
		return 0, err
	}
	has, err := opensearch.Shards(ctx, client, l.cluster.Index)
	if has == 0 {
		has = l.shape.Shards
	}
	return has, err
}

// Settle merges deleted documents of an index away, and returns the numbers of passages and deleted documents before
// and after. It fails for a location that is not in a cluster.
func Settle(ctx context.Context, at store.Location) (before, after opensearch.Statistics, err error) {
	l, ok := at.(*location)
	if !ok {
		return before, after, errors.New("there is nothing to settle: only an index of a cluster keeps deleted passages")
	}
	stored, err := l.openStore(ctx)
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

// openingTime is how long the cluster has to say what a store is, and firstWords of this how its
// words are written.
const (
	openingTime = time.Minute
	firstWords  = 15 * time.Second
)

// Open opens the index for searching. The error is a *store.UnavailableError if the cluster does not answer; it also
// fails if this program cannot read the index, or o asks for more hits than a cluster gives.
func (l *location) Open(ctx context.Context, o store.OpenOptions) (store.Backend, error) {
	b, err := l.open(ctx, o)
	if err != nil {
		return nil, cluster.Unavailable(err)
	}
	return b, nil
}

// open opens the index for searching, and reads its sample and its words unless o.Unprepared is set. If the words
// cannot be read in time, it warns and goes on. It returns the cluster's own errors, which Open translates.
func (l *location) open(ctx context.Context, o store.OpenOptions) (*backend, error) {
	if o.Candidates > opensearch.MostCandidates {
		return nil, fmt.Errorf(
			"limits.candidates is %d, and a cluster gives at most %d hits of a source: set it to %[2]d or less",
			o.Candidates, opensearch.MostCandidates,
		)
	}
	ctx, cancel := context.WithTimeout(ctx, openingTime)
	defer cancel()
	stored, err := l.openStore(ctx)
	if err != nil {
		return nil, err
	}
	b := &backend{warn: o.Warn}
	if b.warn == nil {
		b.warn = func(string, error) {}
	}
	b.Corpus, err = opensearch.NewCorpus(ctx, stored)
	if err != nil {
		return nil, fmt.Errorf("opening the store %s: %w", stored.Index(), err)
	}
	if o.Unprepared {
		return b, nil
	}
	if err := b.ReadSample(ctx); err != nil {
		return nil, fmt.Errorf("reading a sample of the store %s: %w", stored.Index(), err)
	}
	reading, stop := context.WithTimeout(ctx, firstWords)
	defer stop()
	if err := b.ReadWords(reading); err != nil { // whoever watches goes on trying
		b.warn("questions are taken as they are typed", err)
	}
	return b, nil
}
