package corpus

import (
	"fmt"
	"sort"
)

// Place is where a record stands: a file and a line of it, from 1.
type Place struct {
	File string
	Line int
}

// String returns the place for messages: "file:line", the file alone where no line is known, or "record line"
// without a file.
func (p Place) String() string {
	switch {
	case p.File == "":
		return fmt.Sprintf("record %d", p.Line)
	case p.Line == 0:
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// ReadError is an error with the place at which reading a corpus failed. Its cause is a *FieldError if a field is
// wrong.
type ReadError struct {
	Place Place
	// Recoverable is true when only this record is bad: Next goes on behind it.
	Recoverable bool
	Err         error
}

// Error returns the place and then the error there.
func (e *ReadError) Error() string { return fmt.Sprintf("%s: %v", e.Place, e.Err) }

// Unwrap returns the error without the place.
func (e *ReadError) Unwrap() error { return e.Err }

// Places remembers where each record of a build came from, so that a clash of
// ids can name both places. Records usually stand on consecutive lines of one
// file, so it keeps only the points where that pattern breaks: a few entries a
// file instead of one a record.
type Places struct {
	n    int
	runs []placeRun
}

// placeRun is a run of records on consecutive lines of one file.
type placeRun struct {
	first int // the number of the first record of the run
	place Place
}

// Add appends the place of the next record.
func (p *Places) Add(place Place) {
	n := p.n
	p.n++
	if len(p.runs) > 0 {
		last := p.runs[len(p.runs)-1]
		if last.place.File == place.File && last.place.Line+n-last.first == place.Line {
			return
		}
	}
	p.runs = append(p.runs, placeRun{first: n, place: place})
}

// Of returns the place of record n, counted from 0 in the order of Add. Before the first Add it is line n+1 of no file.
func (p *Places) Of(n int) Place {
	i := sort.Search(len(p.runs), func(i int) bool { return p.runs[i].first > n }) - 1
	if i < 0 {
		return Place{Line: n + 1}
	}
	run := p.runs[i]
	return Place{File: run.place.File, Line: run.place.Line + n - run.first}
}
