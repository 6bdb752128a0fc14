package folder

import (
	"fmt"

	"example.org/conclave/ann"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
)

// checkVectors checks an index, and that its parts are parts of the passages' texts.
func checkVectors(ix ann.Index, texts *corpus.Store) error {
	err := ix.Check()
	grouped, ok := ix.(*ann.Grouped)
	if err != nil || !ok {
		return err
	}
	for o := range rank.Ordinal(texts.Len()) {
		p, err := texts.Passage(o)
		if err != nil {
			return nil // told by the store's own check
		}
		for _, s := range grouped.Spans(o) {
			if int(s.End) > len(p.Text) {
				return fmt.Errorf("passage %q has %d bytes, and a part from byte %d to byte %d", p.ID, len(p.Text), s.Begin, s.End)
			}
		}
	}
	return nil
}

// checkOwners makes sure that each expert without vectors of its own has an owner, which
// has them, made by the same encoder of passages.
func (m *manifest) checkOwners(dir string) error {
	for _, x := range m.Experts {
		if x.Owner == "" {
			continue
		}
		bad := func(format string, args ...any) error {
			return fault(
				ErrNoOwner,
				dir,
				x.Owner,
				"expert %q has no vectors of its own and searches those of expert %q, "+format,
				append([]any{x.Name, x.Owner}, args...)...)
		}
		switch owner := m.expert(x.Owner); {
		case owner == nil:
			return bad("which is not there: add it first")
		case owner.Owner != "":
			return bad("which has none either: name expert %q, whose vectors that one searches", owner.Owner)
		case owner.Index.Kind == ann.Late:
			return bad("which has a list of vectors for each passage: an expert with one vector can be searched")
		case owner.Fingerprint != x.Fingerprint || owner.Dimension != x.Dimension:
			return bad(
				"made by the encoder %s (%d numbers), and its own is %s (%d numbers): questions of one do not fit the vectors of the other",
				short(owner.Fingerprint),
				owner.Dimension,
				short(x.Fingerprint),
				x.Dimension,
			)
		case x.Parts || x.Index != (store.Index{}):
			return bad("and has parts of passages or an index all the same")
		}
	}
	return nil
}
