package questions

import (
	"fmt"
	"slices"

	"example.org/conclave/internal/rank"
)

// Passages finds passages of a collection by their ids. A folder.Generation implements it.
type Passages interface {
	Ordinal(id string) (rank.Ordinal, bool, error)
}

// Among returns the grades of the question's relevant passages that exist in passages; empty if none does. The
// error is that of passages.
func (q *Question) Among(passages Passages) (map[rank.Ordinal]float64, error) {
	relevant := map[rank.Ordinal]float64{}
	for id, grade := range q.Judgements() {
		if grade <= 0 {
			continue
		}
		if o, ok, err := passages.Ordinal(id); err != nil {
			return nil, err
		} else if ok {
			relevant[o] = grade
		}
	}
	return relevant, nil
}

// About returns an error if none of the passages that are relevant for the domain's questions exists in passages:
// they are about another collection. It looks for the first one only, and questions that have answers only fit any
// collection. It also returns the error of passages.
func (d *Domain) About(passages Passages) error {
	judged := false
	for i := range d.Questions {
		q := &d.Questions[i]
		relevant, err := q.Among(passages)
		if err != nil || len(relevant) > 0 {
			return err
		}
		judged = judged || q.Judgements().Relevant() > 0
	}
	if !judged {
		return nil
	}
	return fmt.Errorf(
		"none of the relevant passages of the %d questions of %s is in the collection: is it another one, or were the ids indexed with a prefix?",
		len(d.Questions), d.Path,
	)
}

// Absent returns the ids of the relevant passages of domains' questions that do not exist in passages, each once and in
// ascending order; nil if all exist. The error is that of passages.
func Absent(passages Passages, domains []Domain) (ids []string, err error) {
	exists := map[string]bool{}
	for _, d := range domains {
		for i := range d.Questions {
			for id, grade := range d.Questions[i].Judgements() {
				if _, seen := exists[id]; seen || grade <= 0 {
					continue
				}
				_, exists[id], err = passages.Ordinal(id)
				if err != nil {
					return nil, err
				}
				if !exists[id] {
					ids = append(ids, id)
				}
			}
		}
	}
	slices.Sort(ids)
	return ids, nil
}
