package search

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"example.org/conclave/internal/wording"
)

// maxProblems is about how many problems an error names.
const maxProblems = 20

// problems collects what is wrong with a request.
type problems []problem

type problem struct {
	code string
	FieldError
}

func (w *problems) add(code, pointer, format string, args ...any) {
	*w = append(*w, problem{code, FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)}})
}

// err returns the error for all of them, or nil when there are none.
func (w problems) err() error {
	if len(w) == 0 {
		return nil
	}
	e := &Error{Kind: Invalid, Code: w[0].code}
	details := make([]string, len(w))
	for i, p := range w {
		details[i] = p.Detail
		e.Fields = append(e.Fields, p.FieldError)
	}
	e.Detail = strings.Join(details, "; ")
	return e
}

func (w *problems) question(text string, limit int) {
	w.text("/question", "question", "empty_question", text, limit)
}

// text checks a text that is to be encoded; empty is the code of one that is.
func (w *problems) text(pointer, what, empty, text string, limit int) {
	switch {
	case len(text) > limit:
		w.add("too_long", pointer, "the %s has %d bytes: at most %d are allowed", what, len(text), limit)
	case !utf8.ValidString(text):
		w.add("invalid_utf8", pointer, "the %s is not valid UTF-8", what)
	case strings.TrimSpace(text) == "":
		w.add(empty, pointer, "the %s is empty", what)
	}
}

// count checks a number from 1 to most; 0 means the default.
func (w *problems) count(pointer string, n, fallback, most int) int {
	if n == 0 {
		return fallback
	}
	if n < 1 || n > most {
		w.add("out_of_range", pointer, "%s is %d: it has to be from 1 to %d", pointer[1:], n, most)
	}
	return n
}

// between checks a number from 0 to most.
func (w *problems) between(pointer string, x, most float64) {
	if !(x >= 0 && x <= most) {
		w.add("out_of_range", pointer, "%s is %v: it has to be from 0 to %g", pointer[1:], x, most)
	}
}

// oneOf checks a word; "" means the default.
func oneOf[T ~string](w *problems, pointer, value string, fallback T, allowed []T) T {
	if value == "" {
		return fallback
	}
	if !slices.Contains(allowed, T(value)) {
		w.add(
			"unknown_value",
			pointer,
			"%s is %s: it has to be one of %s",
			pointer[1:],
			wording.Quote(value),
			wording.List(allowed),
		)
	}
	return T(value)
}

func fieldNames() []string {
	return []string{"title", "text", "tags", "metadata", "document", "contributions", "sources", "highlights"}
}

func (w *problems) fields(names []string) fields {
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
			w.add(
				"unknown_value",
				wording.Pointer("/fields", i),
				"an answer has no field %s: its fields are %s",
				wording.Quote(name),
				wording.List(fieldNames()),
			)
		}
		if len(*w) > maxProblems {
			break
		}
	}
	return f
}
