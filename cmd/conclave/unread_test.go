package main

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"example.org/conclave/documents"
)

// TestWarningsOfOneKind: of many files with warnings that differ in numbers and quotations one is named; other
// warnings, files that were not read, and files that were left out are all named, each group under its number.
func TestWarningsOfOneKind(t *testing.T) {
	var x unreadFiles
	for i := range 8 {
		x.warn(fmt.Sprintf("page%d.html", i), fmt.Sprintf("%d words were left out: \"Home %d\", \"News\" …", 10+i, i))
		x.addFile(fmt.Sprintf("file%d.doc", i), errors.New("damaged"))
	}
	x.addFile(".git", &documents.SkippedError{Why: "its name begins with a dot"})
	x.warn("list.txt", "its encoding is a guess")
	var lines []string
	x.printAll(true, func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) })
	want := []string{"not read: 8 files"}
	for i := range 8 {
		want = append(want, fmt.Sprintf("  file%d.doc: damaged", i))
	}
	want = append(want,
		"left out: 1 file",
		"  .git: its name begins with a dot",
		"read, with a warning: 9 files",
		`  page0.html and 7 more warnings like this: 10 words were left out: "Home 0", "News" …`,
		"  list.txt: its encoding is a guess",
		"  --json, and conclave read, name the file of each warning")
	if !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
	}
	lines = nil
	x.printAll(false, func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) })
	if len(lines) != 3+len(x.Files) {
		t.Errorf("in full: %q", lines)
	}
}
