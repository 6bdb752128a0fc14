package search

import "fmt"

// What the parts of an answer take beside the passages' own bytes, about, as
// JSON: a result's id, rank and score; a source's contribution to it; a term of
// its explanation; a highlight.
const (
	resultBytes       = 128
	contributionBytes = 160
	termBytes         = 128
	highlightBytes    = 96
)

// fits refuses an answer that would be larger than its limit, before any text
// is read: passages count with what is stored of them.
func (a *answer) fits() error {
	whole := a.plan.fields.title || a.plan.fields.text || a.plan.fields.tags || a.plan.fields.metadata
	for _, r := range a.rankings {
		for _, item := range r.Items {
			size := resultBytes
			if a.plan.fields.contributions {
				size += len(item.Parts) * contributionBytes
			}
			if whole {
				n, err := a.view.Passages().Size(item.Ordinal)
				if err != nil {
					return fmt.Errorf("reading passage %d: %w", item.Ordinal, err)
				}
				size += n
			}
			a.bytes += size
		}
	}
	return a.grows(0)
}

// grows counts more bytes of the answer, and refuses them beyond the limit.
func (a *answer) grows(by int) error {
	a.bytes += by
	most := a.limits.AnswerBytes
	if a.bytes <= most {
		return nil
	}
	detail := fmt.Sprintf("the answer has more than %d bytes (limits.answer_bytes): ask for fewer results, or name in fields only what you need", most)
	return &Error{Kind: Invalid, Code: "answer_too_large", Detail: detail, Fields: []FieldError{{Pointer: "/k", Detail: fmt.Sprintf("is %d: the answer is too large", a.plan.k-a.plan.offset)}}}
}
