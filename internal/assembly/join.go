package assembly

import (
	"context"
	"errors"
	"slices"

	"example.org/conclave/internal/capacity"
	"example.org/conclave/internal/experts"
	"example.org/conclave/search"
	"example.org/conclave/store"
)

// Join returns an engine over open collections, by their names, that fuses their passages as those of one.
// It has the experts that all of them search, and what is shipped in the place of their calibrations, which are of
// one each. The collections stay open until close was called.
func Join(all []*Assembly, names []string, o Options, turns search.Turns) (
	engine *search.Engine, close func() error, err error,
) {
	var backends []store.Backend
	for _, a := range all {
		backends = append(backends, a.Store)
	}
	joined, err := backends[0].Join(backends, names)
	if err != nil {
		return nil, nil, err
	}
	in := joined.Experts()
	shared := func(e *experts.Expert) bool {
		return slices.Contains(in, e.Name()) && !slices.ContainsFunc(all, func(a *Assembly) bool {
			return !slices.ContainsFunc(a.Experts.Searched, func(x *experts.Expert) bool { return x.Name() == e.Name() })
		})
	}
	together := &Assembly{Experts: all[0].Experts.Only(shared), options: o, joined: backends}
	lineUp, err := together.lineUpWith(nil)
	if err == nil {
		engine, err = search.NewEngine(search.EngineConfig{
			LineUp: lineUp, Corpus: joined, Limits: capacity.Limits(o.Config.Limits), Observer: o.Observer, Turns: turns,
		})
	}
	if err != nil {
		joined.Close()
		return nil, nil, err
	}
	return engine, func() error {
		closing, cancel := context.WithTimeout(context.Background(), closingTime)
		defer cancel()
		err := engine.Close(closing)
		joined.Close()
		return errors.Join(err)
	}, nil
}
