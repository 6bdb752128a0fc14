package presenting

import (
	"example.org/conclave/search/reply"
)

// countHighlights converts the begin and end of highlights from bytes to a unit of reply.OffsetNames, in place. one may
// be nil.
func countHighlights(unit string, title, text string, all []reply.Highlight, one *reply.Highlight) {
	if unit == reply.OffsetBytes {
		return
	}
	titles, texts := reply.Counter{Text: title, Unit: unit}, reply.Counter{Text: text, Unit: unit}
	count := func(h *reply.Highlight) {
		counter := &texts
		if h.Field == "title" {
			counter = &titles
		}
		h.Start, h.End = counter.CountTo(h.Start), counter.CountTo(h.End)
	}
	for i := range all {
		count(&all[i])
	}
	if one != nil {
		count(one)
	}
}
