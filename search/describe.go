package search

import (
	"fmt"

	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/storage"
)

// Experts returns descriptions of the experts of the line-up, in its order, followed by late interaction, with their
// indexes in the newest generation. It returns nil if the engine is closed.
func (e *Engine) Experts() []learned.ExpertInfo {
	l, err := e.useLineUp()
	if err != nil {
		return nil
	}
	defer l.panel.Users.Leave()
	return l.describeExperts()
}

// describeExperts returns descriptions of the line-up's experts, in its order, followed by late interaction, with their
// indexes in the newest generation. The caller has to be a user of the line-up.
func (l *lineUp) describeExperts() []learned.ExpertInfo {
	view := l.pin()
	defer view.Release()
	infos := make([]learned.ExpertInfo, 0, len(l.panel.Experts)+len(l.panel.Late))
	for _, x := range l.panel.Experts {
		infos = append(infos, describeExpert(x.Model, view))
	}
	for _, x := range l.panel.Late {
		infos = append(infos, describeExpert(x.Model, view))
	}
	return infos
}

// Expert returns the description of the expert with a name. It returns a *fault.Error of kind NotFound if there is
// none, and of kind Unavailable if the engine is closed.
func (e *Engine) Expert(name string) (learned.ExpertInfo, error) {
	l, err := e.useLineUp()
	if err != nil {
		return learned.ExpertInfo{}, err
	}
	defer l.panel.Users.Leave()
	for _, info := range l.describeExperts() {
		if info.Name == name {
			return info, nil
		}
	}
	return learned.ExpertInfo{}, &fault.Error{
		Kind:   fault.NotFound,
		Code:   "expert_not_found",
		Detail: fmt.Sprintf("there is no expert %s: %s", wording.Quote(name), l.knownExperts()),
	}
}

// describeExpert returns the description of an expert, with its index in a view; without one, the index's fields stay
// zero.
func describeExpert(x *learned.Expert, view storage.View) learned.ExpertInfo {
	info := x.Info
	info.Languages = x.Languages
	if index, ok := view.Index(x.Name); ok {
		info.Index, info.Passages, info.Recall = index.Kind, index.Passages, index.Recall
		info.Rows, info.Parts, info.Owner = index.Rows, index.Parts, index.Owner
		info.Warnings = append(index.Warnings[:len(index.Warnings):len(index.Warnings)], info.Warnings...)
	}
	return info
}

// Readers returns descriptions of the readers and generators, the default first. It returns nil if there are none. It
// works on a closed engine too.
func (e *Engine) Readers() (all []learned.ReaderInfo) {
	for _, r := range e.current.Load().readers {
		r.Info.Name = r.Name
		r.Info.Calibrated = r.Chance != nil
		all = append(all, r.Info)
	}
	return all
}

// Rerankers returns descriptions of the rerankers, the default first. It returns nil if there are none. It works on a
// closed engine too.
func (e *Engine) Rerankers() (all []learned.RerankerInfo) {
	for _, x := range e.current.Load().rerankers {
		x.Info.Name = x.Name
		x.Info.Calibrated = x.Weight != nil
		all = append(all, x.Info)
	}
	return all
}

// Limits returns the limits that the engine was made with.
func (e *Engine) Limits() Limits { return e.limits }

// Defaults returns the defaults of the current line-up.
func (e *Engine) Defaults() Defaults { return e.current.Load().defaults }

// Generation returns the number of the newest generation of the corpus and how many passages that has. Both are 0 if
// the engine is closed.
func (e *Engine) Generation() (number uint64, passages int) {
	l, err := e.useLineUp()
	if err != nil {
		return 0, 0
	}
	defer l.panel.Users.Leave()
	view := e.pin()
	defer view.Release()
	return view.Generation(), view.Passages().Len()
}
