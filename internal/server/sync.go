package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"

	"example.org/conclave/configs"
	"example.org/conclave/documents"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/keeping"
	"example.org/conclave/search"
	"example.org/conclave/search/lookup"
)

// SyncRequest says which collection Sync makes equal to which files.
type SyncRequest struct {
	Config  configs.Config
	Log     *slog.Logger
	Readers *documents.Pool // processes that read the files; nil: this process reads them
	Sync    keeping.SyncOptions
	Sites   []SiteReading // sites that documents are made equal to, too
}

// syncBacklog times Ingest.FlushPassages is the most passages that may wait to be encoded during a Sync.
const syncBacklog = 4

// Sync opens a collection for writing, makes its documents equal to files (keeping.Sync), waits until searches see
// them, and closes the collection. It returns what it did, also beside an error. It fails if a server has the
// collection's folder open, or an expert cannot be loaded.
func Sync(ctx context.Context, r SyncRequest) (synced keeping.SyncReport, err error) {
	s := newCollection(r.Config, r.Log, nil, r.Readers)
	s.config.Ingest.Backlog = min(s.config.Ingest.Backlog, syncBacklog*s.config.Ingest.FlushPassages)
	s.assembly = assembly.New(assembly.Options{Config: s.config, Log: s.log, Uncalibrated: true})
	defer func() { err = errors.Join(err, s.assembly.Close()) }()
	if err := s.assembly.Load(); err != nil {
		return synced, err
	}
	if err := s.openWriter(ctx); err != nil {
		return synced, err
	}
	if absent := s.assembly.Absent; len(absent) > 0 {
		return synced, fmt.Errorf("passages need vectors of every expert, and the bundle of %s cannot be used: %w",
			absent[0].Name, absent[0].Cause)
	}
	if err := s.assembly.Start(nil); err != nil {
		return synced, err
	}
	r.Sync.Refer = s.config.Documents.Keep
	if r.Sync.Refer {
		if err := s.recordRoots(r.Sync.Roots); err != nil {
			return synced, err
		}
	}
	keeper := keeping.New(s.writer, s.documentOptions(), nil)
	if err := s.writer.Visible(ctx, nil); err != nil { // what an interruption left
		return synced, err
	}
	r.Sync.Reader = keeper.Reader()
	r.Sync.AtOnce = runtime.GOMAXPROCS(0)
	synced, err = SyncAll(ctx, target{keeper, s.assembly.Engine}, r.Sync, r.Sites)
	if err != nil {
		return synced, err
	}
	return synced, s.writer.Visible(ctx, nil)
}

// SyncAll makes the documents of a collection equal to files (keeping.Sync) and to sites, one after the other
// (SyncSite), and returns what it did together. It stops at the first error.
func SyncAll(
	ctx context.Context, to keeping.Target, o keeping.SyncOptions, readings []SiteReading,
) (synced keeping.SyncReport, err error) {
	if len(o.Roots) > 0 {
		synced, err = keeping.Sync(ctx, to, o)
	}
	for _, r := range readings {
		if err != nil {
			return synced, err
		}
		t := SiteTarget{
			To: to, Reader: o.Reader, AtOnce: o.AtOnce, DeleteAll: o.DeleteAll, Failed: o.Failed, Warned: o.Warned,
			Progress: o.Progress,
		}
		var more keeping.SyncReport
		more, err = SyncSite(ctx, t, r)
		synced.Add(more)
	}
	return synced, err
}

// target is the keeping.Target of a collection that this process has open.
type target struct {
	keeper *keeping.Keeper
	engine *search.Engine
}

// Put adds or replaces a document, whatever is there (keeping.Target). The error is the keeper's, such as
// *documents.UnreadableError.
func (t target) Put(ctx context.Context, f keeping.DocumentFile) (keeping.ChangeResult, error) {
	return t.keeper.Put(ctx, f, keeping.Condition{})
}

// Delete deletes a document, whatever its version (keeping.Target). The error is the keeper's.
func (t target) Delete(ctx context.Context, id string) (keeping.ChangeResult, error) {
	return t.keeper.Delete(ctx, id, keeping.Condition{})
}

// Documents returns up to limit documents in the order of their ids, beginning after the id after. next is the after
// of the next call, or "" if no documents follow (keeping.Target). It fails if the store cannot be read.
func (t target) Documents(ctx context.Context, after string, limit int) ([]corpus.Document, string, error) {
	return t.engine.Documents(ctx, search.Caller{}, lookup.DocumentsRequest{After: after, Limit: limit})
}
