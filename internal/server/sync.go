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
)

// SyncRequest says which collection is to follow which files.
type SyncRequest struct {
	Config  configs.Config
	Log     *slog.Logger
	Readers *documents.Pool // that read files; nil: they are read in this process
	Sync    keeping.SyncOptions
}

// syncBacklog is how many passages may wait to be encoded for each that one flush takes.
const syncBacklog = 4

// Sync makes the documents of a collection that nobody serves, or of a store, those of
// some files (keeping.Sync), and returns when searches see them.
func Sync(ctx context.Context, r SyncRequest) (synced keeping.Synced, err error) {
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
	keeper := keeping.New(s.writer, s.documentOptions())
	if err := s.writer.Visible(ctx, nil); err != nil { // what an interruption left
		return synced, err
	}
	r.Sync.Reader = keeper.Reader()
	r.Sync.AtOnce = runtime.GOMAXPROCS(0)
	synced, err = keeping.Sync(ctx, target{keeper, s.assembly.Engine}, r.Sync)
	if err != nil {
		return synced, err
	}
	return synced, s.writer.Visible(ctx, nil)
}

// target is a collection of this process as what follows files.
type target struct {
	keeper *keeping.Keeper
	engine *search.Engine
}

// Put implements keeping.Target.
func (t target) Put(ctx context.Context, f keeping.File) (keeping.Result, error) {
	return t.keeper.Put(ctx, f, keeping.Condition{})
}

// Delete implements keeping.Target.
func (t target) Delete(ctx context.Context, id string) (keeping.Result, error) {
	return t.keeper.Delete(ctx, id, keeping.Condition{})
}

// Documents implements keeping.Target.
func (t target) Documents(ctx context.Context, after string, limit int) ([]corpus.Document, string, error) {
	return t.engine.Documents(ctx, search.DocumentsRequest{After: after, Limit: limit})
}
