package fault

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"example.org/conclave/internal/wording"
)

// MaxProblems is about how many problems an error lists: checks of long lists stop after it.
const MaxProblems = 20

// Problems collects what is wrong with a request. The zero value has no problems.
type Problems []problem

// problem is one fault of a request, with the code that an error gets if it is the first.
type problem struct {
	code string
	FieldError
}

// Add adds a problem of the part of the request at a JSON pointer. format and args make the text for users, as in
// fmt.Sprintf.
func (w *Problems) Add(code, pointer, format string, args ...any) {
	*w = append(*w, problem{code, FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)}})
}

// Err returns an *Error of kind Invalid with all problems and the code of the first; nil if there are none.
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

// Text adds one problem if a text is longer than limit bytes, not valid UTF-8, or has nothing but white space. noun
// names the text for users ("question"), and empty is the code of the problem with an empty one.
func (w *Problems) Text(pointer, noun, empty, text string, limit int) {
	switch {
	case len(text) > limit:
		w.Add("too_long", pointer, "the %s has %d bytes: at most %d are allowed", noun, len(text), limit)
	case !utf8.ValidString(text):
		w.Add("invalid_utf8", pointer, "the %s is not valid UTF-8", noun)
	case strings.TrimSpace(text) == "":
		w.Add(empty, pointer, "the %s is empty", noun)
	}
}

// Count returns n, or fallback if n is 0. If n is not from 0 to most, it adds a problem and returns n as it is. pointer
// is "/" and the name of the field.
func (w *Problems) Count(pointer string, n, fallback, most int) int {
	if n == 0 {
		return fallback
	}
	if n < 1 || n > most {
		w.Add("out_of_range", pointer, "%s is %d: it has to be from 1 to %d", pointer[1:], n, most)
	}
	return n
}

// Between adds a problem if x is not from 0 to most or is not a number. pointer is "/" and the name of the field.
func (w *Problems) Between(pointer string, x, most float64) {
	if !(x >= 0 && x <= most) {
		w.Add("out_of_range", pointer, "%s is %v: it has to be from 0 to %g", pointer[1:], x, most)
	}
}

// OneOf returns value, or fallback if value is "". If value is not one of allowed, it adds a problem to w and returns
// value as it is. pointer is "/" and the name of the field.
func OneOf[T ~string](w *Problems, pointer, value string, fallback T, allowed []T) T {
	if value == "" {
		return fallback
	}
	if !slices.Contains(allowed, T(value)) {
		w.Add(
			"unknown_value", pointer, "%s is %s: it has to be one of %s", pointer[1:], wording.Quote(value),
			wording.List(allowed),
		)
	}
	return T(value)
}
