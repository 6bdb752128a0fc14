package presenting

import (
	"example.org/conclave/search/internal/place"
	"example.org/conclave/search/internal/sources"
)

// countHighlights gives highlights of a passage the wanted count.
func countHighlights(unit string, title, text string, all []sources.Highlight, one *sources.Highlight) {
	if unit == place.OffsetBytes {
		return
	}
	titles, texts := place.Counter{Text: title, Unit: unit}, place.Counter{Text: text, Unit: unit}
	count := func(h *sources.Highlight) {
		of := &texts
		if h.Field == "title" {
			of = &titles
		}
		h.Start, h.End = of.CountTo(h.Start), of.CountTo(h.End)
	}
	for i := range all {
		count(&all[i])
	}
	if one != nil {
		count(one)
	}
}
