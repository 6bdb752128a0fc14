package server

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/conclave/handlers"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/collections"
)

// unions keeps an engine for each set of collections that was searched as one, so that later searches of the set find
// what the first one computed. A union is made by the first search. It is replaced when one of its collections changes,
// and closed before one of them is. Methods are safe for concurrent use.
type unions struct {
	most int // unions that are kept; one in use is kept beyond that
	log  *slog.Logger

	mu   sync.Mutex
	kept map[string]*union // by the names of the collections, sorted, with commas between them
}

// union is an engine over several collections.
type union struct {
	ready   chan struct{} // closed when engine and api are set, or err
	engine  *assembly.Union
	api     *handlers.Collection
	err     error            // why it could not be made
	members []*registryEntry // the collections, in the order of their names

	// Guarded by unions.mu:
	users int       // searches that use it
	used  time.Time // when the last of them ended
	old   bool      // it is in kept no more: its last user closes it
}

// newUnions returns a cache of up to most unions.
func newUnions(most int, log *slog.Logger) *unions {
	return &unions{most: most, log: log, kept: map[string]*union{}}
}

// takeUnion returns the union of open collections with one more user. It calls make for a new one if there is none or
// a collection has changed since. members are the entries of names, which are sorted; they have to stay open until
// giveBack, which the caller calls after use. It fails if make does, or if ctx ends while another call makes the
// union.
func (u *unions) takeUnion(
	ctx context.Context,
	names []string,
	members []*registryEntry,
	make func() (*assembly.Union, error),
) (*union, error) {
	key := strings.Join(names, ",")
	for {
		u.mu.Lock()
		x := u.kept[key]
		first := x == nil || x.isReady() && !(slices.Equal(x.members, members) && x.engine.Current())
		var closing []*union
		if first {
			closing = append(u.removeUnion(key), u.makeRoom()...)
			x = newUnion(members)
			u.kept[key] = x
		}
		x.users++
		u.mu.Unlock()
		u.closeAll(closing)
		if first {
			return x, u.makeUnion(key, x, make)
		}
		select {
		case <-x.ready:
		case <-ctx.Done():
			u.giveBack(x)
			return nil, ctx.Err()
		}
		if x.err != nil {
			u.giveBack(x)
			return nil, x.err
		}
		if slices.Equal(x.members, members) { // else it was being made of collections that are closed by now
			return x, nil
		}
		u.giveBack(x)
	}
}

// newUnion returns a union of these collections that has no engine yet (makeUnion).
func newUnion(members []*registryEntry) *union {
	return &union{ready: make(chan struct{}), members: members}
}

// isReady reports whether making the union's engine has ended, successfully or with an error. It does not wait.
func (x *union) isReady() bool {
	select {
	case <-x.ready:
		return true
	default:
		return false
	}
}

// errUnmade is the error of a union whose making panicked.
var errUnmade = errors.New("the collections could not be joined; the server's log says why")

// makeUnion calls make for the engine of a union that takeUnion has added, and wakes the callers that wait for it,
// even if make panics. If make fails, it removes the union again and returns the error. key is the union's in u.kept.
func (u *unions) makeUnion(key string, x *union, make func() (*assembly.Union, error)) error {
	x.err = errUnmade
	defer u.announceMade(key, x)
	x.engine, x.err = make()
	if x.err == nil {
		var members []*handlers.Collection
		for _, h := range x.members {
			members = append(members, h.c.api)
		}
		x.api = handlers.JoinCollections(key, members)
		x.api.Attach(x.engine.Engine)
	}
	return x.err
}

// announceMade wakes the callers that wait for a union: it is made, or has failed. A failed one is removed, so that
// the next call tries again. key is the union's in u.kept.
func (u *unions) announceMade(key string, x *union) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if x.err != nil && u.kept[key] == x {
		delete(u.kept, key)
	}
	close(x.ready)
}

// giveBack ends one use of a union that takeUnion returned. The last use of a removed union closes it.
func (u *unions) giveBack(x *union) {
	u.mu.Lock()
	x.users--
	x.used = time.Now()
	last := x.old && x.users == 0
	u.mu.Unlock()
	if last {
		u.closeAll([]*union{x})
	}
}

// removeUnion removes a union from those that are kept. It returns the union for the caller to close; nil if there is
// none or it is in use: its last user closes it. u.mu must be held.
func (u *unions) removeUnion(key string) []*union {
	x := u.kept[key]
	if x == nil {
		return nil
	}
	delete(u.kept, key)
	x.old = true
	if x.users > 0 {
		return nil
	}
	return []*union{x}
}

// makeRoom removes the longest unused unions until one more can be kept, and returns those for the caller to close.
// Unions in use stay, even above the limit. u.mu must be held.
func (u *unions) makeRoom() (closing []*union) {
	for len(u.kept) >= u.most {
		oldest := ""
		for key, x := range u.kept {
			if x.users == 0 && (oldest == "" || x.used.Before(u.kept[oldest].used)) {
				oldest = key
			}
		}
		if oldest == "" {
			break
		}
		closing = append(closing, u.removeUnion(oldest)...)
	}
	return closing
}

// closeUnused closes unions without users that were last used before a time, or one of whose collections has changed
// since: these keep its old files open.
func (u *unions) closeUnused(before time.Time) {
	u.closeSelected(func(x *union) bool { return x.users == 0 && (x.used.Before(before) || !x.engine.Current()) })
}

// closeUnionsOf removes the unions that have this collection as a member, so that no further search gets one. It closes
// those without users and logs errors; the last user of a union closes it otherwise. It does not wait for users, and
// skips a union whose engine is still being made.
func (u *unions) closeUnionsOf(h *registryEntry) {
	u.closeSelected(func(x *union) bool { return slices.Contains(x.members, h) })
}

// closeSelected removes the unions whose engines are made (isReady) and for which selected returns true, and closes
// them. A union in use is closed by its last user. selected is called with u.mu held.
func (u *unions) closeSelected(selected func(*union) bool) {
	u.mu.Lock()
	var closing []*union
	for key, x := range u.kept {
		if x.isReady() && selected(x) {
			closing = append(closing, u.removeUnion(key)...)
		}
	}
	u.mu.Unlock()
	u.closeAll(closing)
}

// closeAll closes the engines of unions that have no users, and logs errors.
func (u *unions) closeAll(all []*union) {
	for _, x := range all {
		if x.engine == nil {
			continue
		}
		if err := x.engine.Close(); err != nil {
			u.log.Error("a search over several collections goes on", "cause", err)
		}
	}
}

// Join returns a collection that searches the named ones as one. These are opened if necessary, and stay open until
// done is called; call it if err is nil. The error is a *collections.Error if one is unknown or cannot be opened, or
// they cannot be searched as one, or ctx's.
func (r *registry) Join(ctx context.Context, names []string) (k *handlers.Collection, done func(), err error) {
	var taken []*registryEntry
	leave := func() {
		for _, h := range taken {
			r.giveBack(h)
		}
	}
	names = slices.Sorted(slices.Values(names))
	var all []*assembly.Assembly
	for _, name := range names {
		h, err := r.takeCollection(ctx, name)
		if err != nil {
			leave()
			return nil, nil, err
		}
		taken = append(taken, h)
		all = append(all, h.c.assembly)
	}
	x, err := r.unions.takeUnion(ctx, names, taken, func() (*assembly.Union, error) {
		o := assembly.Options{Config: r.config, Log: r.log, Observer: r.observer}
		engine, err := assembly.Unite(all, names, o, r.control)
		if err != nil {
			return nil, &collections.Error{
				Code:   collections.NoValue,
				Detail: "these collections cannot be searched as one: " + handlers.WithoutPaths(err.Error()),
				Cause:  err,
			}
		}
		return engine, nil
	})
	if err != nil {
		leave()
		return nil, nil, err
	}
	return x.api, func() {
		r.unions.giveBack(x)
		leave()
	}, nil
}
