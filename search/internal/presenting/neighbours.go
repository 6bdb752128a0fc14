package presenting

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// MostAround is the greatest number of passages before and after a result that a request may ask for.
const MostAround = 5

// neighbour identifies a passage near a result by its number in the document, from 1.
type neighbour struct {
	collection, document string
	number               int
}

// addNeighbours sets the texts before and after each result: those of up to Plan.Around passages of its document on
// each side, up to the first that does not exist, is excluded by the filter, or is of another version of the document.
// passages are those of the results. It fails if passages cannot be read or the answer becomes too large.
func (a *Page) addNeighbours(ctx context.Context, results []reply.Result, passages []corpus.Passage) error {
	around := a.answer.Plan.Around
	if around == 0 {
		return nil
	}
	var wanted []neighbour
	for i := range passages {
		document, number, ok := corpus.SplitPassageID(passages[i].ID)
		for n := max(1, number-around); ok && n <= number+around; n++ {
			if n != number {
				wanted = append(wanted, neighbour{results[i].Collection, document, n})
			}
		}
	}
	there, err := a.readNeighbours(ctx, wanted)
	if err != nil {
		return err
	}
	for i := range results {
		document, number, ok := corpus.SplitPassageID(passages[i].ID)
		if !ok {
			continue
		}
		beside := func(n int) *corpus.Passage {
			p := there[neighbour{results[i].Collection, document, n}]
			if p == nil || !SameVersion(p, &passages[i]) || !a.answer.Plan.Inquiry.Filter.LetsTags(p.Tags) ||
				!a.answer.Found.View.Where.Matches(p.Tags, p.Metadata) {
				return nil
			}
			return p
		}
		first := number
		for first > max(1, number-around) && beside(first-1) != nil {
			first--
		}
		var before, after strings.Builder
		for n := first; n < number; n++ {
			if p := beside(n); n == first {
				before.WriteString(p.Text)
			} else {
				before.WriteString(corpus.TextBefore(p, n) + corpus.OwnText(p))
			}
		}
		if first < number {
			before.WriteString(corpus.TextBefore(&passages[i], number))
		}
		for n := number + 1; n <= number+around; n++ {
			p := beside(n)
			if p == nil {
				break
			}
			after.WriteString(corpus.TextBefore(p, n) + corpus.OwnText(p))
		}
		results[i].Before, results[i].After = strings.TrimSpace(before.String()), strings.TrimSpace(after.String())
		if err := a.answer.Grow(len(results[i].Before) + len(results[i].After)); err != nil {
			return err
		}
	}
	return nil
}

// readNeighbours returns the passages wanted that exist and are not deleted, read once each after waiting for memory.
// It fails if they cannot be read, or with a *fault.Error of kind Invalid if they have more than Rules.AnswerBytes. It
// sorts wanted in place.
func (a *Page) readNeighbours(ctx context.Context, wanted []neighbour) (map[neighbour]*corpus.Passage, error) {
	slices.SortFunc(wanted, func(a, b neighbour) int {
		return cmp.Or(strings.Compare(a.collection, b.collection), strings.Compare(a.document, b.document), a.number-b.number)
	})
	wanted = slices.Compact(wanted)
	from := a.answer.Found.View.Passages()
	var found []storage.Found
	for len(found) < len(wanted) {
		collection := wanted[len(found)].collection
		var ids []string
		for _, n := range wanted[len(found):] {
			if n.collection != collection {
				break
			}
			ids = append(ids, corpus.PassageID(n.document, n.number))
		}
		some, err := a.answer.Found.View.Lookup(ctx, collection, ids)
		if err != nil {
			return nil, fmt.Errorf("looking for the passages around the results: %w", err)
		}
		found = append(found, some...)
	}
	var ordinals []rank.Ordinal
	var group []neighbour
	bytes := 0
	for i, f := range found {
		if !f.There {
			continue
		}
		size, err := from.Size(f.Ordinal)
		if err != nil {
			return nil, fmt.Errorf("passage %d: %w", f.Ordinal, err)
		}
		bytes += size
		ordinals, group = append(ordinals, f.Ordinal), append(group, wanted[i])
	}
	if bytes > a.answer.Rules.AnswerBytes {
		return nil, a.answer.Grow(bytes)
	}
	if err := a.takeRoom(ctx, answering.Copies*bytes); err != nil {
		return nil, err
	}
	passages, err := from.Read(ctx, ordinals)
	if err != nil {
		return nil, fmt.Errorf("reading the passages around the results: %w", err)
	}
	there := make(map[neighbour]*corpus.Passage, len(passages))
	for i := range passages {
		if !storage.IsDeleted(passages[i]) {
			there[group[i]] = &passages[i]
		}
	}
	return there, nil
}

// SameVersion reports whether two passages were cut from the same version of a document. It is true for two that are of
// no document.
func SameVersion(a, b *corpus.Passage) bool {
	return a.Metadata[corpus.DocumentSHA256Key] == b.Metadata[corpus.DocumentSHA256Key]
}
