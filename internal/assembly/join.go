package assembly

import (
	"context"
	"slices"

	"example.org/conclave/internal/capacity"
	"example.org/conclave/internal/experts"
	"example.org/conclave/search"
	"example.org/conclave/search/turn"
	"example.org/conclave/store"
)

// Union is a search engine over several open collections, which fuses their passages as those of one. It has the
// experts that all of them search, and what is shipped in place of their calibrations. It shows the collections as
// they were when it was made: Current tells whether they still are. The collections have to stay open until Close
// has returned.
type Union struct {
	Engine *search.Engine

	corpus  store.JoinedCorpus
	members []*Assembly
	lineUps []*experts.Set // of the members, when the union was made
}

// Unite returns an engine over open collections, at least one, which are named in the same order; the caller closes
// it. It fails if the collections are in different stores, or if their words are analysed in different ways. turns
// may be nil: every search then computes at once.
func Unite(members []*Assembly, names []string, o Options, turns turn.Turns) (*Union, error) {
	u := &Union{members: members}
	var backends []store.Backend
	for _, a := range members {
		u.lineUps = append(u.lineUps, a.searched.Load())
		backends = append(backends, a.Store)
	}
	corpus, err := backends[0].Join(backends, names)
	if err != nil {
		return nil, err
	}
	u.corpus = corpus
	in := corpus.Experts()
	shared := func(e *experts.Expert) bool {
		return slices.Contains(in, e.Name()) && !slices.ContainsFunc(u.lineUps, func(set *experts.Set) bool {
			return !slices.ContainsFunc(set.Searched, func(x *experts.Expert) bool { return x.Name() == e.Name() })
		})
	}
	together := &Assembly{Experts: u.lineUps[0].Only(shared), options: o, joined: backends, joinedNames: names}
	lineUp, err := together.lineUpWith(nil)
	if err == nil {
		u.Engine, err = search.NewEngine(search.EngineConfig{
			LineUp: lineUp, Corpus: corpus, Limits: capacity.Limits(o.Config.Limits), Observer: o.Observer, Turns: turns,
		})
	}
	if err != nil {
		corpus.Close()
		return nil, err
	}
	return u, nil
}

// Current reports whether the collections are as they were when the union was made: no passage was written or deleted,
// and no expert, calibration or setting changed.
func (u *Union) Current() bool {
	for i, a := range u.members {
		if a.searched.Load() != u.lineUps[i] {
			return false
		}
	}
	return u.corpus.Current()
}

// Close ends the engine and releases the collections. It waits at most closingTime for searches that still run; if
// they do not end, it returns an error, and the collections are released all the same.
func (u *Union) Close() error {
	closing, cancel := context.WithTimeout(context.Background(), closingTime)
	defer cancel()
	err := u.Engine.Close(closing)
	u.corpus.Close()
	return err
}
