package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"example.org/conclave/internal/collections"
)

// lookEvery is how many times per idle time (config.Collections.Idle) the registry looks for collections to close.
const lookEvery = 4

// closeUnused closes, now and then, the collections and unions that were not used for config.Collections.Idle. It
// returns when ctx is done.
func (r *registry) closeUnused(ctx context.Context) {
	idle := r.config.Collections.Idle
	again := time.NewTicker(max(idle/lookEvery, 10*time.Millisecond))
	defer again.Stop()
	for {
		select {
		case now := <-again.C:
			r.unions.closeUnused(now.Add(-idle))
			r.closeSome(func(all []string) []string {
				return slices.DeleteFunc(all, func(name string) bool { return now.Sub(r.held[name].used) < idle })
			})
		case <-ctx.Done():
			return
		}
	}
}

// makeRoom closes the longest unused collections until the named one can be opened within the limits for the number
// of open collections and the bytes of their files. Collections in use stay open, even above the limits. Errors of
// closing are logged.
func (r *registry) makeRoom(name string) {
	most := int64(r.config.Collections.OpenBytes)
	if r.config.Data == "" {
		most = 0 // the files are in a cluster
	}
	var coming int64
	if most > 0 {
		coming, _ = r.catalogue.Bytes(r.running, name) // of one that cannot be read opening says why
	}
	r.closeSome(func(all []string) []string {
		n := min(max(len(r.held)-r.config.Collections.Open, 0), len(all))
		if most == 0 {
			return all[:n]
		}
		bytes := coming
		for _, h := range r.held {
			if h.c != nil {
				bytes += h.c.usedBytes()
			}
		}
		for i, name := range all {
			if i >= n && bytes <= most {
				return all[:i]
			}
			bytes -= r.held[name].c.usedBytes()
		}
		return all
	})
}

// closeSome closes open collections that have no users and no jobs, waits until they are closed, and logs errors.
// choose gets their names, the longest unused first, and returns those to close; it is called with r.mu held.
func (r *registry) closeSome(choose func(names []string) []string) {
	r.mu.Lock()
	var names []string
	for name, h := range r.held {
		if h.users == 0 && h.c != nil && h.gone == nil && !h.c.hasJobs() {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return r.held[a].used.Compare(r.held[b].used) })
	chosen := map[string]*registryEntry{}
	for _, name := range choose(names) {
		chosen[name] = r.held[name]
		chosen[name].gone = make(chan struct{})
	}
	r.mu.Unlock()
	for name, h := range chosen {
		if err := r.closeOne(name, h); err != nil {
			r.log.Error("closing a collection", "collection", name, "cause", err)
		}
	}
}

// closeOne closes the unions that use a collection, then the collection, whose gone must be set. It removes it from
// r.held and closes gone, so that it can be opened again, even if closing fails.
func (r *registry) closeOne(name string, h *registryEntry) error {
	r.unions.closeUnionsOf(h)
	err := h.c.endAndClose()
	r.mu.Lock()
	delete(r.held, name)
	close(h.gone)
	r.mu.Unlock()
	r.log.Info("closed", "collection", name)
	return err
}

// endAndClose stops the collection's goroutines, waits for them, and closes its store and experts. It returns the
// errors of all of these.
func (s *collection) endAndClose() error {
	s.stop()
	return errors.Join(s.group.Wait(), s.closeParts())
}

// hasJobs reports whether the collection has a job that has not ended. It is false if the jobs cannot be read.
func (s *collection) hasJobs() bool {
	if s.jobs == nil {
		return false
	}
	all, err := s.jobs.Jobs(s.running)
	if err != nil {
		return false
	}
	for _, j := range all {
		if !j.State.Ended() {
			return true
		}
	}
	return false
}

// closeAll waits for collections that are being opened, closes all unions, collections and then the pool of encoders,
// and returns all errors. Call it when no request runs any more.
func (r *registry) closeAll() error {
	var errs []error
	r.opens.Wait()
	r.unions.closeSelected(func(*union) bool { return true })
	r.mu.Lock()
	all := r.held
	r.held = map[string]*registryEntry{}
	r.mu.Unlock()
	for _, h := range all {
		if h.c != nil {
			errs = append(errs, h.c.endAndClose())
		}
	}
	return errors.Join(append(errs, r.pool.Close())...)
}

// Remove closes a collection and removes its passages, documents and settings. It waits for the requests that use it;
// if they do not end in time, nothing is removed and the error has the code collections.InUse. An unknown name gives
// collections.UnknownError. An error of closing is only logged.
func (r *registry) Remove(ctx context.Context, name string) error {
	catalogue, err := r.openedCatalogue()
	if err != nil {
		return err
	}
	found, err := catalogue.Find(ctx, name)
	if err != nil {
		return err
	}
	if found == nil {
		return collections.UnknownError(name)
	}
	h, err := r.withdrawCollection(ctx, name)
	if err != nil {
		return err
	}
	if h != nil && h.c != nil {
		r.unions.closeUnionsOf(h)
		err = h.c.endAndClose()
		if err != nil {
			r.log.Error("closing a collection that is removed", "collection", name, "cause", err)
		}
	}
	err = catalogue.Remove(ctx, name)
	r.mu.Lock()
	delete(r.held, name)
	r.mu.Unlock()
	if h != nil {
		close(h.gone)
	}
	if err == nil {
		r.tellWorks(name)
		r.observer.Metrics.ForgetCollection(name)
		r.log.Info("removed", "collection", name)
	}
	return err
}

// withdrawCollection marks a collection as going, so that no further request uses it, and waits up to drainWithin
// until the requests that use it have ended. It returns the collection's entry, without a collection if it is not
// open. The caller closes the collection, deletes the entry from r.held, and closes the entry's channel gone, on
// which others wait. If requests do not end in time, it returns an error, and the collection stays in use.
func (r *registry) withdrawCollection(ctx context.Context, name string) (*registryEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, drainWithin)
	defer cancel()
	for {
		r.mu.Lock()
		h := r.held[name]
		switch {
		case h == nil:
			h = &registryEntry{ready: make(chan struct{}), gone: make(chan struct{})}
			close(h.ready)
			r.held[name] = h
			r.mu.Unlock()
			return h, nil
		case h.gone == nil:
			h.gone = make(chan struct{})
			r.mu.Unlock()
			return h, r.awaitUnused(ctx, h)
		}
		wait := h.gone
		r.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// awaitUnused waits until a withdrawn collection has no users. If ctx ends first, it lets requests use the collection
// again and returns a *collections.Error with the code InUse.
func (r *registry) awaitUnused(ctx context.Context, h *registryEntry) error {
	<-h.ready
	for again := time.NewTicker(5 * time.Millisecond); ; {
		r.mu.Lock()
		free := h.users == 0
		if !free && ctx.Err() != nil {
			close(h.gone)
			h.gone = nil
		}
		r.mu.Unlock()
		switch {
		case free:
			again.Stop()
			return nil
		case ctx.Err() != nil:
			again.Stop()
			return &collections.Error{
				Code:   collections.InUse,
				Detail: "requests to the collection are still being answered; remove it when they are",
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
		}
	}
}
