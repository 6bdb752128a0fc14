package main

import (
	"maps"
	"slices"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/internal/indexing"
)

// printIndexed writes what a build did: a line with the generation (0: a store has none) and how many passages were
// written, replaced, already there or left out, then lines on copies, fields, recall, and passages that experts could
// not read to their end. where is the collection's path or address. Errors of writing are in w.Err.
func printIndexed(w *cli.ErrWriter, r indexing.IndexReport, where string) {
	passages := cli.Plural(int64(r.Passages), "passage")
	switch {
	case r.Generation == 0:
		w.Printf("%s: %s written", where, passages)
	case r.Passages == 0:
		w.Printf("%s: generation %d", where, r.Generation)
	default:
		w.Printf("%s: generation %d, %s", where, r.Generation, passages)
	}
	if r.Replaced > 0 {
		w.Printf(", of which %d replaced others", r.Replaced)
	}
	if r.There > 0 {
		w.Printf(", %d were indexed already", r.There)
	}
	if r.Skipped > 0 {
		w.Printf(", %d left out", r.Skipped)
	}
	if r.Bytes > 0 {
		w.Printf(", %s", cli.Count(r.Bytes, "bytes"))
	}
	w.Printf("\n")
	if r.Copies > 0 {
		w.Printf(
			"passages with the title and text of another one, which count once in answers: %s\n",
			cli.Count(int64(r.Copies), ""),
		)
	}
	if r.Untexted > 0 {
		w.Printf("passages with a title and no text, which are found by their titles: %s\n", cli.Count(r.Untexted, ""))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Fields)) {
		if f := r.Fields[name]; f.Others > 0 {
			w.Printf("field %s: %s in most passages that have it, and no %[2]s in %s, such as %q of passage %s\n",
				cli.Printable(name), f.Type, cli.Count(f.Others, ""), f.Example, cli.Printable(f.Passage))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Recall)) {
		recall := r.Recall[name]
		w.Printf("%s: recall against exact search %.4f@10, %.4f@100\n", name, recall.Stored.At10, recall.Stored.At100)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Truncated)) {
		w.Printf(
			"%s: passages longer than it reads, %d tokens at a time, of which the end is not encoded: %s\n", name,
			r.Reads[name], cli.Count(r.Truncated[name], ""),
		)
	}
	for _, name := range slices.Sorted(maps.Keys(r.LeftOut)) {
		w.Printf(
			"%s: passages in languages that it does not read, which others encode: %s\n", name, cli.Count(r.LeftOut[name], ""),
		)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Unread)) {
		w.Printf(
			"%s: passages that it can hardly read, since they are in a script or of characters that it was not trained on, and that are found by equal words: %s\n",
			name, cli.Count(r.Unread[name], ""),
		)
	}
}
