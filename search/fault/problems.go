package fault

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"example.org/conclave/internal/wording"
)

// MaxProblems is about how many problems an error names.
const MaxProblems = 20

// Problems collects what is wrong with a request.
type Problems []problem

type problem struct {
	code string
	FieldError
}

func (w *Problems) Add(code, pointer, format string, args ...any) {
	*w = append(*w, problem{code, FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)}})
}

// Err returns the error for all of them, or nil when there are none.
func (w Problems) Err() error {
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

// Text checks a text that is to be encoded; empty is the code of one that is.
func (w *Problems) Text(pointer, what, empty, text string, limit int) {
	switch {
	case len(text) > limit:
		w.Add("too_long", pointer, "the %s has %d bytes: at most %d are allowed", what, len(text), limit)
	case !utf8.ValidString(text):
		w.Add("invalid_utf8", pointer, "the %s is not valid UTF-8", what)
	case strings.TrimSpace(text) == "":
		w.Add(empty, pointer, "the %s is empty", what)
	}
}

// Count checks a number from 1 to most; 0 means the default.
func (w *Problems) Count(pointer string, n, fallback, most int) int {
	if n == 0 {
		return fallback
	}
	if n < 1 || n > most {
		w.Add("out_of_range", pointer, "%s is %d: it has to be from 1 to %d", pointer[1:], n, most)
	}
	return n
}

// Between checks a number from 0 to most.
func (w *Problems) Between(pointer string, x, most float64) {
	if !(x >= 0 && x <= most) {
		w.Add("out_of_range", pointer, "%s is %v: it has to be from 0 to %g", pointer[1:], x, most)
	}
}

// OneOf checks a word; "" means the default.
func OneOf[T ~string](w *Problems, pointer, value string, fallback T, allowed []T) T {
	if value == "" {
		return fallback
	}
	if !slices.Contains(allowed, T(value)) {
		w.Add(
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
