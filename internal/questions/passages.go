package questions

import (
	"fmt"

	"example.org/conclave/internal/rank"
)

// Passages finds the passages of a collection. A folder.Generation is one.
type Passages interface {
	Ordinal(id string) (rank.Ordinal, bool, error)
}

// Among returns the grades of a question's relevant passages that are among some.
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

// About makes sure that a domain's questions are about these passages: that at least
// one that is relevant is among them. Questions with answers alone are about any.
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
		len(d.Questions),
		d.Path,
	)
}
