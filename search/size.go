package search

import (
	"context"
	"fmt"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/turn"
)

// What the parts of an answer take beside the passages' own bytes, about, as
// JSON: a result's id, rank and score; a source's contribution to it; a term of
// its explanation; a highlight.
const (
	resultBytes       = 128
	contributionBytes = 160
	termBytes         = 128
	highlightBytes    = 96
)

// copies is how often the bytes of an answer are in memory at once, at the most: as
// texts, and as JSON in a buffer that doubles and in one of its length.
const copies = 4

// RoomBytes returns the most room that an answer takes (WithRoom).
func (l Limits) RoomBytes() int { return copies * l.AnswerBytes }

// numberRoom is what a number of a vector takes: itself, and with its comma as JSON.
const numberRoom = 4 + 13*copies

// PassageRoom returns the room that a passage takes which has so many bytes as it is stored.
func PassageRoom(bytes int) int {
	return copies * (bytes + resultBytes + metadataGrows*min(bytes, metadataSmall))
}

// metadataGrows is how much larger an object of metadata is in memory than these
// copies of it, for the smallest keys and values; metadataSmall is what as many as
// there may be of those take as JSON.
const (
	metadataGrows = 3
	metadataSmall = 2 << 10
)

// cutToLimits leaves of the rankings what is answered, and refuses an answer that would be
// larger than its limit before any text is read: passages count with what is stored
// of them.
func (a *answer) cutToLimits() error {
	for i := range a.rankings {
		r := &a.rankings[i]
		if a.plan.abstains(run.PrintedOf(r.Confidence)) && !a.readsForConfidence() && !a.reranksForConfidence() {
			r.Items = nil
		}
		within := a.cut
		if a.plan.window(len(r.Items)) > 0 {
			within = a.cutForReranking
		}
		if err := within(r); err != nil {
			return err
		}
	}
	whole := a.plan.fields.title || a.plan.fields.text || a.plan.fields.tags ||
		a.plan.fields.metadata || a.plan.fields.document
	more := 0
	for _, item := range a.toRead {
		n, err := a.found.View.Passages().Size(item.Ordinal)
		if err != nil {
			return fmt.Errorf("reading passage %d: %w", item.Ordinal, err)
		}
		more += n
	}
	for _, r := range a.rankings {
		items := r.Items
		if a.ranksByReader() && len(a.toRead) > len(items) && a.plan.reranker == nil {
			items = a.toRead // any of these may be answered
		}
		for _, item := range items {
			size := resultBytes
			if a.plan.fields.contributions {
				size += (len(item.Parts) + a.plan.judges()) * contributionBytes
			}
			if whole {
				n, err := a.found.View.Passages().Size(item.Ordinal)
				if err != nil {
					return fmt.Errorf("reading passage %d: %w", item.Ordinal, err)
				}
				size += n
				if a.plan.fields.metadata {
					more += metadataGrows * min(n, metadataSmall)
				}
				if a.plan.fields.document { // said in the metadata, and once more
					more += min(n, metadataSmall)
				}
			}
			a.bytes += size
			if a.plan.explain {
				// A question has at most as many words, and pairs of them, as bytes.
				more += (len(a.plan.inquiry.Question) + 1) * termBytes
			}
		}
	}
	a.room = copies * min(a.bytes+more, a.rules.answerBytes)
	return a.grow(0)
}

// judges returns how many models add contributions of their own.
func (p *plan) judges() (n int) {
	if p.reranker != nil {
		n++
	}
	if p.reader != nil && p.reader.Ranking > 0 {
		n++
	}
	return n
}

// cut leaves of a ranking what is answered, and of the first passages those that are read.
func (a *answer) cut(r *fusion.Ranking) error {
	if a.plan.groupBy != "" {
		var err error
		r.Items, err = a.ofGroups(r.Items, 0)
		if err != nil {
			return err
		}
	} else {
		r.Items = r.Items[min(a.plan.offset, len(r.Items)):]
	}
	if a.plan.reader != nil || a.plan.writer != nil {
		a.toRead = r.Items[:min(a.plan.answer.Passages, len(r.Items))]
	}
	if a.plan.groupBy == "" {
		r.Items = r.Items[:min(a.plan.k-a.plan.offset, len(r.Items))]
	}
	return nil
}

// cutForReranking leaves of a ranking what may be answered or read once its first passages were
// reranked, and those.
func (a *answer) cutForReranking(r *fusion.Ranking) (err error) {
	within := a.plan.window(len(r.Items))
	if a.plan.groupBy != "" {
		r.Items, err = a.ofGroups(r.Items, within)
		return err
	}
	r.Items = r.Items[:min(max(within, a.plan.k, a.plan.offset+a.plan.answer.Passages), len(r.Items))]
	return nil
}

// grow counts more bytes of the answer, and refuses them beyond the limit.
func (a *answer) grow(by int) error {
	a.bytes += by
	most := a.rules.answerBytes
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
			Pointer: "/k", Detail: fmt.Sprintf("is %d: the answer is too large", a.plan.k-a.plan.offset),
		}},
	}
}

type roomKey struct{}

// WithRoom returns a context whose requests call take before they read the texts of an answer. take waits until there
// is memory for that many bytes; its error ends the request. It is called once for each answer; in a batch, only after
// the answer before was delivered. The caller frees the memory when the answer is written.
func WithRoom(ctx context.Context, take func(ctx context.Context, bytes int) error) context.Context {
	return context.WithValue(ctx, roomKey{}, take)
}

// takeRoom calls the function of WithRoom, and gives a step's turn back meanwhile; without one it returns nil.
func takeRoom(ctx context.Context, bytes int) error {
	if take, ok := ctx.Value(roomKey{}).(func(context.Context, int) error); ok {
		return turn.Elsewhere(ctx, func() error { return take(ctx, bytes) })
	}
	return nil
}

// waitForEarlier waits until the answers before this one are delivered. That time does not count:
// the context that it returns has as much time left as before.
func waitForEarlier(
	batch, search context.Context,
	ahead <-chan struct{},
) (left context.Context, waited time.Duration, cancel context.CancelFunc, err error) {
	began := time.Now()
	end, _ := search.Deadline()
	select {
	case <-ahead:
	case <-batch.Done():
		return nil, 0, nil, batch.Err()
	}
	waited = time.Since(began)
	left, cancel = context.WithDeadline(batch, end.Add(waited))
	return left, waited, cancel, nil
}
