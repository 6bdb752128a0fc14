package main

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// TestWarningsOfOneKind: of many files with warnings that differ in numbers and quotations one is named; other
// warnings, and files that were not read, are all named.
func TestWarningsOfOneKind(t *testing.T) {
	var x unreadFiles
	for i := range 8 {
		x.warn(fmt.Sprintf("page%d.html", i), fmt.Sprintf("%d words were left out: \"Home %d\", \"News\" …", 10+i, i))
		x.addFile(fmt.Sprintf("file%d.doc", i), errors.New("damaged"))
	}
	x.warn("list.txt", "its encoding is a guess")
	var lines []string
	x.printAll(true, func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) })
	want := []string{
		"not read: 8 files",
		`  page0.html and 7 more warnings like this: 10 words were left out: "Home 0", "News" …`,
	}
	for i := range 8 {
		want = append(want, fmt.Sprintf("  file%d.doc: damaged", i))
	}
	want = append(want,
		"  list.txt: its encoding is a guess", "  --json, and conclave read, name the file of each warning")
	if !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
	}
	lines = nil
	x.printAll(false, func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) })
	if len(lines) != 1+len(x.Files) {
		t.Errorf("in full: %q", lines)
	}
}
