package server

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"example.org/conclave/ann"
	"example.org/conclave/configs"
	"example.org/conclave/handlers"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/provision"
	"example.org/conclave/models"
	"example.org/conclave/shipped"
	"example.org/conclave/store"
)

// checkAdding returns a *jobs.Refusal if a job that adds expert r.Name would fail at once: the collection has it
// already, its bundle is unknown, or its name or index kind is invalid. Other errors are those of the cache.
func (s *collection) checkAdding(r jobs.Request) error {
	if s.hasExpert(r.Name) {
		return jobs.Refuse("expert_exists", "the collection has vectors of expert %q already", r.Name)
	}
	cache, err := provision.CacheAt(s.config.Cache)
	if err != nil {
		return err
	}
	if err := store.CheckExpertName(r.Name); err != nil {
		return jobs.Refuse("invalid_name", "%v", err)
	}
	bundle, granularity, err := experts.SplitName(r.Name)
	if err != nil {
		return jobs.Refuse("invalid_name", "%v", err)
	}
	if _, remote := s.config.Endpoint(bundle); !remote {
		dir, err := shipped.Folder(s.config, cache, bundle)
		if err != nil {
			return jobs.Refuse("unknown_bundle", "%s", handlers.WithoutPaths(err.Error()))
		}
		if b, err := models.Peek(dir); err == nil && granularity != nil && b.Manifest.Kind != models.KindDense {
			return jobs.Refuse("invalid_name", "%s is of kind %s and has no granularities", bundle, b.Manifest.Kind)
		}
	}
	if r.Index != "" {
		if kind, err := ann.KindNamed(r.Index); err != nil {
			return jobs.Refuse("unknown_value", "%v", err)
		} else if kind.Tokens {
			return jobs.Refuse("unknown_value", "an index of kind %s cannot be chosen; experts of late interaction always have it", kind.Name)
		}
	}
	return nil
}

// addExpert runs a job that adds an expert: it loads the expert, encodes all passages with it, and lets searches use
// it. If the recall of its index is below the configured floor, or searches cannot use it, its vectors are removed
// again. It succeeds at once if searches use it already. It fails if the bundle cannot be used, and after an
// interruption goes on with t.Scratch.
func (s *collection) addExpert(ctx context.Context, t jobs.Task) (result jobs.Result, err error) {
	if s.hasExpert(t.Name) && slices.ContainsFunc(
		s.searchedExperts(), func(e *experts.Expert) bool { return e.Name() == t.Name },
	) {
		return s.describeAdded(t.Name, 0), nil // it was added, and nobody wrote that down
	}
	t.Report(jobs.Progress{Stage: "loading", Total: 1, Unit: "bundles"})
	e, err := s.LoadMore(t.Name)
	if err != nil {
		return result, err
	}
	joined := false
	defer func() {
		if !joined {
			err = errors.Join(err, s.assembly.Experts.CloseUnused(e))
		}
	}()
	o := store.BuildOptions{Threads: s.config.Ingest.Threads, Index: store.Index{Kind: t.Index}}
	if o.Index.Kind == "" {
		o.Index.Kind = s.config.Index.Kind
	}
	o.Progress = func(p store.Progress) {
		t.Report(jobs.Progress{Stage: string(p.Stage), Done: p.Done, Total: p.Total, Unit: p.Unit})
	}
	experts, err := s.writer.Experts()
	if err != nil {
		return result, err
	}
	report, err := experts.Add(ctx, e, t.Scratch, o)
	if err != nil {
		return result, err
	}
	err = s.checkFloors() // the next start would refuse it
	if err == nil {
		err = s.startSearching(e)
	}
	if err != nil {
		return result, errors.Join(err, experts.Remove(ctx, t.Name))
	}
	joined = true
	return s.describeAdded(t.Name, report.Bytes), nil
}

// checkFloors returns an error if the recall of an expert's index is below the floor that the configuration sets.
func (s *collection) checkFloors() error {
	contents, done := s.assembly.Store.Contents()
	defer done()
	return contents.CheckRecall(assembly.Floors(s.config.Index))
}

// describeAdded returns the result of a job that added an expert: the collection's present size, bytes of vectors,
// the recall of the expert's index, and a warning if a restart would not search the expert.
func (s *collection) describeAdded(name string, bytes int64) jobs.Result {
	generation, passages := s.assembly.Engine.Generation()
	result := jobs.Result{Generation: generation, Passages: passages, Bytes: bytes, Warnings: s.warnUnnamed(name)}
	if info, err := s.assembly.Engine.Expert(name); err == nil {
		result.Recall = info.Recall
	}
	return result
}

// hasExpert reports whether the collection has vectors of an expert.
func (s *collection) hasExpert(name string) bool {
	contents, done := s.assembly.Store.Contents()
	defer done()
	return hasExpert(contents, name)
}

// warnUnnamed returns a warning if the configuration lists experts, but not this one: a restarted server would not
// search it. Otherwise it returns nil.
func (s *collection) warnUnnamed(name string) []string {
	if s.config.Searches(name) {
		return nil
	}
	return []string{
		fmt.Sprintf("experts in the configuration does not name %s: after a restart it is not searched, until it does", name),
	}
}

// isConfigured reports whether the configuration lists the expert.
func (s *collection) isConfigured(name string) bool {
	return slices.ContainsFunc(s.config.Experts, func(x configs.Expert) bool { return x.Name == name })
}

// checkRemoving returns a *jobs.Refusal if a job that removes expert r.Name would fail at once: the collection does
// not have it, or another expert searches its vectors.
func (s *collection) checkRemoving(r jobs.Request) error {
	if !s.hasExpert(r.Name) {
		return jobs.Refuse("expert_not_found", "the collection has no vectors of an expert %q", r.Name)
	}
	contents, done := s.assembly.Store.Contents()
	defer done()
	for _, x := range contents.Experts() {
		if x.Owner == r.Name {
			return jobs.Refuse("expert_in_use", "expert %[1]q searches the vectors of %[2]q: remove %[1]q first", x.Name, r.Name)
		}
	}
	return nil
}

// removeExpert runs a job that removes an expert: searches stop using it, those under way end, its vectors are
// removed, and then its encoder is closed. After an error its vectors may still be there, and its encoder stays
// loaded without being searched. The result has a warning if the configuration lists the expert.
func (s *collection) removeExpert(ctx context.Context, t jobs.Task) (result jobs.Result, err error) {
	removed, err := s.stopSearching(t.Name)
	if err != nil {
		return result, err
	}
	defer func() {
		if err != nil && removed != nil {
			s.retainEncoder(removed)
		}
	}()
	if err := s.awaitEarlierLineUps(ctx); err != nil {
		return result, err
	}
	if s.hasExpert(t.Name) {
		experts, err := s.writer.Experts()
		if err == nil {
			err = experts.Remove(ctx, t.Name)
		}
		if err != nil {
			return result, err
		}
	}
	s.removeAbsent(t.Name)
	result.Generation, result.Passages = s.assembly.Engine.Generation()
	if _, remote := s.config.Endpoint(t.Name); s.isConfigured(t.Name) && !remote {
		result.Warnings = []string{
			fmt.Sprintf(
				"experts in the configuration names %s, which keeps the server from starting again: take it out there",
				t.Name,
			),
		}
	}
	if removed != nil {
		if err := s.assembly.Experts.CloseUnused(removed); err != nil {
			s.log.Error("closing the encoder of an expert that was removed", "expert", t.Name, "cause", err)
		}
	}
	return result, nil
}
