package serving

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"conclave/collection"
	"conclave/handlers"
	"conclave/models"
	"conclave/search"
)

// spare leaves out the experts that could not be opened. Without the base, or
// without any expert that finds passages, a collection is not searched.
func (l *Assembly) spare(failed map[string]error) error {
	var errs []error
	for name, err := range failed {
		if name == Base || name == BaseBundle(models.PrecisionInt8) || !l.options.Lenient {
			errs = append(errs, err)
			continue
		}
		l.options.Log.Error("an expert is out: its bundle cannot be used", "expert", name, "cause", err)
		l.absent = append(l.absent, search.Missing{Source: name, Reason: "its bundle cannot be used: " + err.Error()})
	}
	if len(errs) == 0 && len(failed) > 0 && len(l.Experts.Dense()) == 0 {
		for _, err := range failed {
			errs = append(errs, err)
		}
	}
	slices.SortFunc(l.absent, func(a, b search.Missing) int { return strings.Compare(a.Source, b.Source) })
	return errors.Join(errs...)
}

// stillAbsent are the absent experts that the collection has and that were not
// opened since.
func (l *Assembly) stillAbsent(g *collection.Generation) []search.Missing {
	return slices.DeleteFunc(slices.Clone(l.absent), func(m search.Missing) bool {
		return slices.ContainsFunc(l.Experts.opened, func(e *Expert) bool { return e.name == m.Source }) ||
			!slices.ContainsFunc(g.Experts(), func(x collection.ExpertFiles) bool { return x.Name == m.Source })
	})
}

// tellAbsent states the absent experts in /readyz, and refuses writes: a passage
// needs vectors of every expert of its collection.
func (l *Assembly) tellAbsent(api *handlers.API) {
	for _, m := range l.absent {
		api.Readiness().Set(handlers.Component{Name: "expert " + m.Source, Status: handlers.Ready, Warnings: []string{"is out: " + m.Reason}})
	}
	if l.unwritable != nil {
		api.RefuseWrites(fmt.Sprintf("Nothing can be written, since passages need vectors of every expert of the collection: %v. Mend it (conclave doctor says how) and start the server again, or take the expert out with conclave index --remove-expert.", l.unwritable))
	}
}

// forgetAbsent changes the line-up when an absent expert left the collection.
func (l *Assembly) forgetAbsent() {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.Collection.Acquire()
	still := l.stillAbsent(g)
	g.Release()
	if len(still) == len(l.absent) {
		return
	}
	for _, m := range l.absent {
		gone := !slices.ContainsFunc(still, func(s search.Missing) bool { return s.Source == m.Source })
		loaded := slices.ContainsFunc(l.Experts.opened, func(e *Expert) bool { return e.name == m.Source })
		if gone && !loaded {
			l.api.Readiness().Remove("expert " + m.Source)
		}
	}
	l.absent = still
	if err := l.reconfigure(); err != nil {
		l.log.Error("an expert that left is still named", "cause", err)
	}
}
