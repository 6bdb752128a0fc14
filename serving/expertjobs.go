package serving

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"conclave/ann"
	"conclave/collection"
	"conclave/configs"
	"conclave/handlers"
	"conclave/jobs"
	"conclave/provision"
)

// acceptWrites lets passages be written and jobs be asked for.
func (l *Assembly) acceptWrites(api *handlers.API) (*jobs.Queue, error) {
	queue, err := jobs.Open(filepath.Join(l.config.Collection, "jobs"), jobs.Options{Logger: l.log, Kinds: map[string]jobs.Kind{
		jobs.Snapshot:     {Check: l.checkSnapshot, Work: l.makeSnapshot},
		jobs.AddExpert:    {Check: l.checkAdding, Work: l.addExpert},
		jobs.RemoveExpert: {Check: l.checkRemoving, Work: l.removeExpert},
		jobs.DeleteTagged: {Work: l.deleteTagged},
	}})
	if err != nil {
		return nil, err
	}
	if damaged := queue.Damaged(); len(damaged) > 0 {
		said := handlers.Component{Name: "jobs", Status: handlers.Ready}
		for _, path := range damaged {
			said.Warnings = append(said.Warnings, fmt.Sprintf("the record %s is damaged and its job is not done: ask for it again, and remove the file", filepath.Base(path)))
		}
		api.Readiness().Set(said)
	}
	return queue, api.AttachWriter(l.live, queue, snapshotFolder{snapshotsOf(l.config)})
}

// work does the jobs of a queue until ctx is done and the function that it
// returns was called.
func work(ctx context.Context, queue *jobs.Queue) (finish func()) {
	running, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		queue.Run(running)
	}()
	return func() {
		cancel()
		<-ended
	}
}

func (l *Assembly) checkAdding(r jobs.Request) error {
	if l.has(r.Name) {
		return jobs.Refuse("expert_exists", "the collection has vectors of expert %q already", r.Name)
	}
	cache, err := provision.CacheAt(l.config.Cache)
	if err != nil {
		return err
	}
	if err := collection.CheckExpertName(r.Name); err != nil {
		return jobs.Refuse("invalid_name", "%v", err)
	}
	if _, err := BundleFolder(l.config, cache, r.Name); err != nil {
		return jobs.Refuse("unknown_bundle", "%v", err)
	}
	if r.Index != "" {
		if kind, err := ann.KindNamed(r.Index); err != nil {
			return jobs.Refuse("unknown_value", "%v", err)
		} else if kind.Tokens {
			return jobs.Refuse("unknown_value", "an index of kind %s cannot be chosen: experts of late interaction have it by themselves", kind.Name)
		}
	}
	return nil
}

// has reports whether the collection has vectors of an expert.
func (l *Assembly) has(name string) bool {
	g := l.Collection.Acquire()
	defer g.Release()
	return slices.ContainsFunc(g.Experts(), func(f collection.ExpertFiles) bool { return f.Name == name })
}

// addExpert is the work of adding an expert.
func (l *Assembly) addExpert(ctx context.Context, t jobs.Task) (result jobs.Result, err error) {
	if l.has(t.Name) && slices.ContainsFunc(l.loaded(), func(e *Expert) bool { return e.name == t.Name }) {
		return l.describeAdded(t.Name, 0), nil // it was added, and nobody wrote that down
	}
	t.Report(jobs.Progress{Stage: "loading", Total: 1, Unit: "bundles"})
	e, err := l.openAdded(t.Name)
	if err != nil {
		return result, err
	}
	joined := false
	defer func() {
		if !joined {
			err = errors.Join(err, e.Encoder.Close())
		}
	}()
	o := collection.BuildOptions{Threads: l.config.Ingest.Threads, Index: collection.Index{Kind: t.Index}}
	if o.Index.Kind == "" {
		o.Index.Kind = l.config.Index.Kind
	}
	report, err := jobs.AddExpertTo(ctx, l.live, e, t.Scratch, o, t.Report)
	if err != nil {
		return result, err
	}
	if err := l.aboveFloor(t.Name); err != nil {
		// The next start would refuse it.
		return result, errors.Join(err, l.live.RemoveExpert(ctx, t.Name))
	}
	if err := l.join(e); err != nil {
		return result, errors.Join(err, l.live.RemoveExpert(ctx, t.Name))
	}
	joined = true
	return l.describeAdded(t.Name, report.Bytes), nil
}

func (l *Assembly) openAdded(name string) (*Expert, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open(l.config, l.log, name)
}

// aboveFloor is an error when the index of an expert finds too little to be
// served.
func (l *Assembly) aboveFloor(name string) error {
	g := l.Collection.Acquire()
	defer g.Release()
	floors := Floors(l.config.Index)
	for _, f := range g.Experts() {
		if f.Name == name && f.Recall.Stored.At10 < floors[f.Index.Kind] {
			return fmt.Errorf("the %s index finds only %.3f of the 10 nearest passages, %.3f is the least to be served with: add the expert with another index, flat is exact", f.Index.Kind, f.Recall.Stored.At10, floors[f.Index.Kind])
		}
	}
	return nil
}

// join lets searches ask one more expert.
func (l *Assembly) join(e *Expert) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Experts.opened = append(l.Experts.opened, e)
	if err := l.reconfigure(); err != nil {
		l.Experts.opened = slices.DeleteFunc(slices.Clone(l.Experts.opened), func(other *Expert) bool { return other == e })
		return err
	}
	l.api.Readiness().Set(handlers.Component{Name: "expert " + e.name, Status: handlers.Ready, Warnings: l.warnings[e.name]})
	return nil
}

// reconfigure lets searches use the experts that are loaded now. Called with
// mu held.
func (l *Assembly) reconfigure() error {
	g := l.Collection.Acquire()
	defer g.Release()
	made, err := l.configure(g)
	if err != nil {
		return err
	}
	l.tellCalibration(l.api)
	return l.replace(made)
}

func (l *Assembly) describeAdded(name string, bytes int64) jobs.Result {
	g := l.Collection.Acquire()
	defer g.Release()
	result := jobs.Result{Generation: g.Number(), Passages: g.Len(), Bytes: bytes, Warnings: l.unnamed(name)}
	for _, f := range g.Experts() {
		if f.Name == name {
			result.Recall = recallOf(f)
		}
	}
	return result
}

// unnamed warns of a configuration that names experts, and not this one.
func (l *Assembly) unnamed(name string) []string {
	if len(l.config.Experts) == 0 || l.named(name) {
		return nil
	}
	return []string{fmt.Sprintf("experts in the configuration does not name %s: after a restart it is not searched, until it does", name)}
}

func (l *Assembly) named(name string) bool {
	return slices.ContainsFunc(l.config.Experts, func(x configs.Expert) bool { return x.Name == name })
}

func (l *Assembly) checkRemoving(r jobs.Request) error {
	if !l.has(r.Name) {
		return jobs.Refuse("expert_not_found", "the collection has no vectors of an expert %q", r.Name)
	}
	return nil
}

// removeExpert is the work of removing an expert: first no search asks it, then
// its vectors go, then its encoder.
func (l *Assembly) removeExpert(ctx context.Context, t jobs.Task) (result jobs.Result, err error) {
	gone, err := l.part(t.Name)
	if err != nil {
		return result, err
	}
	defer func() {
		if err != nil && gone != nil {
			// The collection still needs its encoder.
			l.mu.Lock()
			defer l.mu.Unlock()
			l.silent = append(l.silent, gone)
		}
	}()
	if err := l.settled(ctx); err != nil {
		return result, err
	}
	if l.has(t.Name) {
		if err := l.live.RemoveExpert(ctx, t.Name); err != nil {
			return result, err
		}
	}
	g := l.Collection.Acquire()
	result = jobs.Result{Generation: g.Number(), Passages: g.Len()}
	g.Release()
	if l.named(t.Name) {
		result.Warnings = []string{fmt.Sprintf("experts in the configuration names %s, which keeps the server from starting again: take it out there", t.Name)}
	}
	if gone != nil {
		if err := gone.Encoder.Close(); err != nil {
			l.log.Error("closing the encoder of an expert that was removed", "expert", t.Name, "cause", err)
		}
	}
	return result, nil
}

// part lets no further search ask an expert. It returns the expert, which is
// nil when it was not loaded.
func (l *Assembly) part(name string) (*Expert, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	is := func(e *Expert) bool { return e.name == name }
	if at := slices.IndexFunc(l.silent, is); at >= 0 {
		gone := l.silent[at]
		l.silent = slices.Delete(l.silent, at, at+1)
		return gone, nil
	}
	at := slices.IndexFunc(l.Experts.opened, is)
	if at < 0 {
		return nil, nil
	}
	gone, before := l.Experts.opened[at], l.Experts.opened
	l.Experts.opened = slices.Delete(slices.Clone(before), at, at+1)
	if err := l.reconfigure(); err != nil {
		l.Experts.opened = before
		return nil, err
	}
	l.api.Readiness().Remove("expert " + name)
	return gone, nil
}
