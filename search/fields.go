package search

import (
	"slices"

	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/plan"
)

// readFields returns the fields of results that have these names; nil means the default fields. It adds unknown names
// to w.
func readFields(w *fault.Problems, names []string) plan.Fields {
	if names == nil {
		return plan.Fields{Title: true, Text: true, Document: true, Contributions: true, Sources: true}
	}
	var f plan.Fields
	// in the order of fieldNames
	known := []*bool{&f.Title, &f.Text, &f.Tags, &f.Metadata, &f.Document, &f.Contributions, &f.Sources, &f.Highlights}
	for i, name := range names {
		if at := slices.Index(fieldNames(), name); at >= 0 {
			*known[at] = true
		} else {
			w.Add(
				"unknown_value", wording.Pointer("/fields", i), "an answer has no field %s: its fields are %s",
				wording.Quote(name), wording.List(fieldNames()),
			)
		}
		if len(*w) > fault.MaxProblems {
			break
		}
	}
	return f
}

// fieldNames returns the names that Request.Fields may have, in the order of plan.Fields.
func fieldNames() []string {
	return []string{"title", "text", "tags", "metadata", "document", "contributions", "sources", "highlights"}
}
