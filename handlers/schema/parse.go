package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/plaintext"
	"example.org/conclave/internal/wording"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth bounds how deep JSON may be nested. The deepest request is a batch of searches whose conditions stand inside
// each other: each in a list of its own, but for the first, behind some other levels, and with a list of values.
const MaxDepth = 8 + 2*conditions.MaxDepth

// MaxValues bounds how many values a JSON text may have, keys not counted. A
// body of a megabyte that is made of nothing but values would take longer to
// look at than a search.
const MaxValues = 1 << 15

// ParseJSON returns the value of one JSON text as map[string]any, []any, string, json.Number, bool or nil, in linear
// time. It returns a problem if the text is not JSON, is nested deeper than MaxDepth or has more than MaxValues values,
// and also for what encoding/json would repair in silence: invalid UTF-8, lone surrogates, a key written twice, text
// after the end.
func ParseJSON(data []byte) (any, *Problem) {
	// The parser has the keys of an object in a map, and finds those that are twice.
	p := strictParser{Decoder: jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true))}
	v, err := p.readValue()
	if err == nil {
		err = checkEnd(p.Decoder)
	}
	if err != nil {
		return nil, strictProblem(data, err)
	}
	return v, nil
}

// strictParser reads JSON values from a decoder and counts them.
type strictParser struct {
	*jsontext.Decoder
	values int
}

// readValue returns the next JSON value. It fails if the text is malformed, nested too deeply, or has too many values.
// A key that stands twice in an object is an error too. Errors of these rules are problems, others the decoder's.
func (p *strictParser) readValue() (any, error) {
	if p.values++; p.values > MaxValues {
		return nil, TooManyValues()
	}
	token, err := p.ReadToken()
	if err != nil {
		return nil, err
	}
	if p.StackDepth() > MaxDepth {
		return nil, NewProblem("too_deep", fmt.Sprintf("JSON may be nested %d deep.", MaxDepth))
	}
	switch token.Kind() {
	case jsontext.KindBeginObject:
		object := map[string]any{}
		for p.PeekKind() != jsontext.KindEndObject {
			key, err := p.ReadToken()
			if err != nil {
				return nil, err
			}
			name := key.String()
			if _, twice := object[name]; twice {
				return nil, NewProblem(
					"duplicate_key",
					fmt.Sprintf("The key %s is written twice; which of them is meant is not clear.", wording.Quote(name)),
					ProblemField{Pointer: wording.Shorten(string(p.StackPointer())), Detail: "written twice"},
				)
			}
			object[name], err = p.readValue()
			if err != nil {
				return nil, err
			}
		}
		_, err = p.ReadToken()
		return object, err
	case jsontext.KindBeginArray:
		list := []any{}
		for p.PeekKind() != jsontext.KindEndArray {
			item, err := p.readValue()
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err = p.ReadToken()
		return list, err
	case jsontext.KindString:
		return token.String(), nil
	case jsontext.KindNumber:
		return json.Number(token.String()), nil
	case jsontext.KindNull:
		return nil, nil
	}
	return token.Bool(), nil
}

// CountValues returns the number of values in a JSON text, at most MaxValues+1. It stops where the text is malformed or
// nested too deeply, and returns the number up to there.
func CountValues(data []byte) (values int) {
	d := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for values <= MaxValues && d.StackDepth() <= MaxDepth {
		token, err := d.ReadToken()
		if err != nil {
			return values
		}
		in, n := d.StackIndex(d.StackDepth())
		switch kind := token.Kind(); {
		case kind == jsontext.KindEndObject, kind == jsontext.KindEndArray:
		case kind == jsontext.KindString && in == jsontext.KindBeginObject && n%2 == 1: // a key
		default:
			values++
		}
	}
	return values
}

// TooManyValues returns the problem of a body with more than MaxValues values (413).
func TooManyValues() *Problem {
	return NewProblem("too_many_values", fmt.Sprintf("JSON may have %d values.", MaxValues))
}

// checkEnd returns an error unless only white space follows.
func checkEnd(d *jsontext.Decoder) error {
	_, err := d.ReadToken()
	switch {
	case err == nil:
		return errors.New("more text follows it")
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}

// strictProblem returns the problem for a text that ParseJSON refuses. A text that is not JSON at all is reported as
// that, even if a duplicate key or the like comes before.
func strictProblem(data []byte, found error) *Problem {
	reread := func(o ...jsontext.Options) error {
		d := jsontext.NewDecoder(bytes.NewBuffer(data), o...)
		if err := d.SkipValue(); err != nil {
			return err
		}
		return checkEnd(d)
	}
	reason := func(err error) string {
		var at *jsontext.SyntacticError
		if errors.As(err, &at) {
			return fmt.Sprintf("%s at offset %d", at.Err, at.ByteOffset)
		}
		return err.Error()
	}
	twice := jsontext.AllowDuplicateNames(true)
	if len(bytes.TrimSpace(data)) == 0 {
		return NewProblem("not_json", "The body is empty; it has to be a JSON object.")
	} else if err := reread(twice, jsontext.AllowInvalidUTF8(true)); err != nil && utf8.Valid(data) {
		return NewProblem("not_json", fmt.Sprintf("The body has to be one JSON text: %s.", reason(err))).Because(err)
	} else if err := reread(twice); err != nil {
		return NewProblem("invalid_utf8", fmt.Sprintf("The body has to be UTF-8, without lone halves of surrogate pairs: %s.%s", reason(err), conversionHint(data)))
	}
	var problem *Problem
	if errors.As(found, &problem) {
		return problem
	}
	return NewProblem("not_json", "The body has to be one JSON text.").Because(found)
}

// conversionHint returns advice, after a space, on converting a body that is not valid UTF-8; "" if it is valid.
func conversionHint(data []byte) string {
	if utf8.Valid(data) {
		return "" // an escape is wrong
	}
	return " " + plaintext.Wrong(data).Remedy() + "."
}
