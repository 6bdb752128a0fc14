package search

import (
	"slices"

	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
)

func readFields(w *fault.Problems, names []string) fields {
	if names == nil {
		return fields{title: true, text: true, document: true, contributions: true, sources: true}
	}
	var f fields
	// in the order of fieldNames
	known := []*bool{&f.title, &f.text, &f.tags, &f.metadata, &f.document, &f.contributions, &f.sources, &f.highlights}
	for i, name := range names {
		if at := slices.Index(fieldNames(), name); at >= 0 {
			*known[at] = true
		} else {
			w.Add(
				"unknown_value",
				wording.Pointer("/fields", i),
				"an answer has no field %s: its fields are %s",
				wording.Quote(name),
				wording.List(fieldNames()),
			)
		}
		if len(*w) > fault.MaxProblems {
			break
		}
	}
	return f
}

func fieldNames() []string {
	return []string{"title", "text", "tags", "metadata", "document", "contributions", "sources", "highlights"}
}
