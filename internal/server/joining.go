package server

import (
	"context"
	"slices"
	"strings"

	"example.org/conclave/handlers"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/collections"
)

// Join implements handlers.Collections.
func (r *registry) Join(ctx context.Context, names []string) (k *handlers.Collection, done func(), err error) {
	var taken []*held
	leave := func() {
		for _, h := range taken {
			r.giveBack(h)
		}
	}
	names = slices.Sorted(slices.Values(names))
	var all []*assembly.Assembly
	for _, name := range names {
		h, err := r.take(ctx, name)
		if err != nil {
			leave()
			return nil, nil, err
		}
		taken = append(taken, h)
		all = append(all, h.c.assembly)
	}
	o := assembly.Options{Config: r.config, Log: r.log, Observer: r.observer}
	engine, end, err := assembly.Join(all, names, o, r.control)
	if err != nil {
		leave()
		return nil, nil, &collections.Error{
			Code:   collections.NoValue,
			Detail: "these collections cannot be searched as one: " + handlers.WithoutPaths(err.Error()),
			Cause:  err,
		}
	}
	var members []*handlers.Collection
	for _, h := range taken {
		members = append(members, h.c.api)
	}
	k = handlers.Joined(strings.Join(names, ","), members)
	k.Attach(engine)
	return k, func() {
		if err := end(); err != nil {
			r.log.Error("a search over several collections goes on", "collections", names, "cause", err)
		}
		leave()
	}, nil
}
