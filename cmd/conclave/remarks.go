package main

import (
	"fmt"
	"strings"
	"sync"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/internal/corpus"
)

// remarks collects what was done with rows of tables that a reader of the files may not expect: the number of rows, and
// the lines of the first ones.
type remarks struct {
	sync.Mutex
	groups []remarkGroup
}

// remarkGroup counts the rows of a file with one kind of remark. lines are in the order
// of the file.
type remarkGroup struct {
	kind  corpus.Remark
	file  string
	rows  int64
	lines []string // of the first: "7", "12–14"
}

// mostLines bounds how many rows of a file are named by their lines.
const mostLines = 20

// addRemark counts a remark about the row that begins at from and ends on line last, by its kind and file, and keeps
// the lines of the first ones. It is a corpus.Input.Remarked. It may be called by several goroutines at once.
func (r *remarks) addRemark(kind corpus.Remark, from corpus.Place, last int) {
	r.Lock()
	defer r.Unlock()
	at := -1
	for i := range r.groups {
		if r.groups[i].kind == kind && r.groups[i].file == from.File {
			at = i
		}
	}
	if at < 0 {
		at = len(r.groups)
		r.groups = append(r.groups, remarkGroup{kind: kind, file: from.File})
	}
	x := &r.groups[at]
	if x.rows++; len(x.lines) == mostLines {
		return
	}
	lines := fmt.Sprint(from.Line)
	if last > from.Line {
		lines += fmt.Sprintf("–%d", last)
	}
	x.lines = append(x.lines, lines)
}

// printRemarks prints a line for each kind of remark and file: how many rows it is about, and the first of their lines.
// The caller must have ended what calls addRemark.
func (r *remarks) printRemarks(bar *cli.Progress) {
	for _, x := range r.groups {
		says := map[corpus.Remark]string{
			corpus.Joined:      "with a quoted field of several lines; each row is one passage",
			corpus.Literal:     "with a quote that CSV's rules do not close, which is read as a character",
			corpus.HeaderAgain: "that repeat the header and were left out",
		}[x.kind]
		lines := strings.Join(x.lines, ", ")
		more := ""
		if n := x.rows - int64(len(x.lines)); n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		word := "lines"
		if x.rows == 1 && !strings.Contains(lines, "–") {
			word = "line"
		}
		bar.Say("%s: %s %s: %s %s%s", cli.Printable(x.file), cli.Plural(x.rows, "row"), says, word, lines, more)
	}
}

// countRemarks returns the number of rows by file and remark, for JSON; nil if there are no remarks. The caller must
// have ended what calls addRemark.
func (r *remarks) countRemarks() map[string]map[corpus.Remark]int64 {
	var out map[string]map[corpus.Remark]int64
	for _, x := range r.groups {
		if out == nil {
			out = map[string]map[corpus.Remark]int64{}
		}
		if out[x.file] == nil {
			out[x.file] = map[corpus.Remark]int64{}
		}
		out[x.file][x.kind] = x.rows
	}
	return out
}
