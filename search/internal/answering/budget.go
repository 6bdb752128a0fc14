package answering

import (
	"cmp"
	"fmt"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/reply"
)

// CutToLimits reduces each ranking to the passages that may be on the page and, of the first ranking, those that models
// read; to nothing if the request abstains at its confidence. It sets a.ToRead and a.Room, the memory that the response
// takes. It reads no text. It returns a *fault.Error of kind Invalid if the response would exceed Rules.AnswerBytes,
// and fails if the passages' ids or sizes cannot be read.
func (a *Answer) CutToLimits() error {
	for i := range a.Rankings {
		r := &a.Rankings[i]
		if a.Plan.Abstains(run.PrintedOf(r.Confidence)) && !a.readsForConfidence() && !a.reranksForConfidence() {
			r.Items = nil
		}
	}
	a.setToRead()
	within := max(len(a.ToRead), a.Plan.Window(len(a.Rankings[0].Items)))
	more := 0
	for _, item := range a.ToRead {
		n, err := a.Found.View.Passages().Size(item.Ordinal)
		if err != nil {
			return fmt.Errorf("reading passage %d: %w", item.Ordinal, err)
		}
		more += n
	}
	for i := range a.Rankings {
		r := &a.Rankings[i]
		page, err := a.pageOf(i, r.Items)
		if err != nil {
			return err
		}
		if i > 0 {
			within = 0
		}
		n, err := a.boundSize(page, r.Items[:min(within, len(r.Items))])
		if err != nil {
			return err
		}
		more += n
		if a.Plan.GroupBy != "" {
			r.Items, err = a.groupsWithPins(i, r.Items, max(within, comparedNames))
			if err != nil {
				return err
			}
		} else {
			r.Items = r.Items[:min(max(within, a.Plan.K, comparedNames), len(r.Items))]
		}
	}
	a.Room = Copies * min(a.bytes+more, a.Rules.AnswerBytes)
	return a.Grow(0)
}

// boundSize adds an upper estimate of the size of a page's results to a.bytes, and returns how many more bytes they
// take in memory. moved holds the passages that models may still move to the page: the estimate is for the largest
// passages of both lists, as many as the page has. It fails if the sizes of passages cannot be read.
func (a *Answer) boundSize(page, moved []fusion.Item) (more int, err error) {
	whole := a.Plan.Fields.Title || a.Plan.Fields.Text || a.Plan.Fields.Tags ||
		a.Plan.Fields.Metadata || a.Plan.Fields.Document
	type cost struct{ size, more int }
	var costs []cost
	counted := map[rank.Ordinal]bool{}
	for _, item := range slices.Concat(page, moved) {
		if counted[item.Ordinal] {
			continue
		}
		counted[item.Ordinal] = true
		c := cost{size: ResultBytes}
		if a.Plan.Fields.Contributions {
			c.size += (len(item.Parts) + a.Plan.Judges()) * contributionBytes
		}
		if whole {
			n, err := a.Found.View.Passages().Size(item.Ordinal)
			if err != nil {
				return 0, fmt.Errorf("reading passage %d: %w", item.Ordinal, err)
			}
			c.size += n
			if a.Plan.Fields.Metadata {
				c.more += MetadataGrows * min(n, MetadataSmall)
			}
			if a.Plan.Fields.Document { // said in the metadata, and once more
				c.more += min(n, MetadataSmall)
			}
		}
		if a.Plan.Explain {
			// A question has at most as many words, and pairs of them, as bytes.
			c.more += (len(a.Plan.Inquiry.Question) + 1) * TermBytes
		}
		costs = append(costs, c)
	}
	slices.SortFunc(costs, func(x, y cost) int { return cmp.Compare(y.size+y.more, x.size+x.more) })
	for _, c := range costs[:min(len(page), len(costs))] {
		a.bytes += c.size
		more += c.more
	}
	return more, nil
}

// setToRead sets a.ToRead to the first passages of the first ranking, as many as a reader or a generator reads. They
// are the same whatever page of the ranking is answered. Without either it changes nothing.
func (a *Answer) setToRead() {
	if a.Plan.Reader != nil || a.Plan.Writer != nil {
		items := a.Rankings[0].Items
		a.ToRead = items[:min(a.Plan.Answer.Passages, len(items))]
	}
}

// CutToPage cuts each ranking, in its final order, to the page that is answered (pageOf), and keeps the first passages
// of each for Head. If Plan.MarkedOnPage, it also removes the extracts of passages that are not on the first ranking's
// page. It fails if ids cannot be read.
func (a *Answer) CutToPage() (err error) {
	for i := range a.Rankings {
		r := &a.Rankings[i]
		a.heads = append(a.heads, headOf(r.Items))
		r.Items, err = a.pageOf(i, r.Items)
		if err != nil {
			return err
		}
	}
	if a.Plan.MarkedOnPage { // words of passages that are not returned would have no place
		a.Extracts = slices.DeleteFunc(a.Extracts, func(x reply.Extract) bool {
			return !slices.ContainsFunc(a.Rankings[0].Items, func(item fusion.Item) bool {
				return item.Ordinal == a.ToRead[x.Reading].Ordinal
			})
		})
	}
	return nil
}

// pageOf returns the part of the ranking at an index that is answered: of its items behind the pinned passages, those
// from Plan.Offset to Plan.K, or the same of groups. It fails if ids cannot be read (groupPassages).
func (a *Answer) pageOf(ranking int, items []fusion.Item) ([]fusion.Item, error) {
	items = a.withPins(ranking, items)
	if a.Plan.GroupBy != "" {
		return a.groupPassages(items, 0)
	}
	return items[min(a.Plan.Offset, len(items)):min(a.Plan.K, len(items))], nil
}

// Grow adds to the size of the answer. It returns a *fault.Error of kind Invalid if the size then exceeds
// Rules.AnswerBytes.
func (a *Answer) Grow(by int) error {
	a.bytes += by
	most := a.Rules.AnswerBytes
	if a.bytes <= most {
		return nil
	}
	detail := fmt.Sprintf(
		"the answer has more than %d bytes (limits.answer_bytes): ask for fewer results, or name in fields only what you need",
		most,
	)
	return &fault.Error{
		Kind:   fault.Invalid,
		Code:   "answer_too_large",
		Detail: detail,
		Fields: []fault.FieldError{{
			Pointer: "/k", Detail: fmt.Sprintf("is %d: the answer is too large", a.Plan.K-a.Plan.Offset),
		}},
	}
}

// Estimated bytes of the parts of an answer as JSON, without the passages' texts: a result's id, rank and score; a
// source's contribution to it; a term of its explanation; a highlight.
const (
	ResultBytes       = 128
	contributionBytes = 160
	TermBytes         = 128
	HighlightBytes    = 96
)

// Copies is how many times the bytes of an answer are in memory at once, at the most: as texts, as JSON in a buffer
// that doubles (which counts twice), and as JSON in a buffer of its length.
const Copies = 4

// MetadataGrows is how many times its JSON an object of metadata takes in memory, in addition to Copies, if its keys
// and values are of the smallest. MetadataSmall is the JSON's greatest size for which that is so: there is a limit to
// the number of keys.
const (
	MetadataGrows = 3
	MetadataSmall = 2 << 10
)
