package conditions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Condition is met by a passage that meets all of its parts: its tags, the comparisons with Field, every condition of
// And, at least one of Or, and not that of Not. Every passage meets the zero value.
type Condition struct {
	TagsAll []string `json:"tags_all,omitempty"` // has each of these
	TagsAny []string `json:"tags_any,omitempty"` // has at least one of these

	Field  string  `json:"field,omitempty"`
	Eq     *Value  `json:"eq,omitempty"`     // the field is this; a day is all of its moments
	In     []Value `json:"in,omitempty"`     // it is one of these
	Gt     *Value  `json:"gt,omitempty"`     // it is beyond this; words are compared byte by byte
	Gte    *Value  `json:"gte,omitempty"`    // this or beyond
	Lt     *Value  `json:"lt,omitempty"`     // before this
	Lte    *Value  `json:"lte,omitempty"`    // this or before
	Exists *bool   `json:"exists,omitempty"` // there is such a field, or none

	And []Condition `json:"and,omitempty"`
	Or  []Condition `json:"or,omitempty"`
	Not *Condition  `json:"not,omitempty"`
}

// Parse parses a condition in JSON. It fails for unknown names, for text after the condition, and if the
// condition's form is invalid (Condition.Check); of several faults it names the first.
func Parse(text string) (*Condition, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	c := &Condition{}
	if err := d.Decode(c); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows its end")
	}
	if wrong := c.Check(nil); wrong != nil {
		return nil, errors.New(wrong[0].Detail)
	}
	return c, nil
}

// Empty reports whether every passage meets the condition, as it has no parts; true for nil.
func (c *Condition) Empty() bool {
	return c == nil || len(c.TagsAll)+len(c.TagsAny)+len(c.And)+len(c.Or) == 0 && c.Field == "" && c.Not == nil &&
		!c.comparesField()
}

// comparesField reports whether the condition has eq, in, gt, gte, lt, lte or exists, whether it names a field or
// not.
func (c *Condition) comparesField() bool {
	return c.Eq != nil || c.In != nil || c.hasRange() || c.Exists != nil
}

// hasRange reports whether the condition has gt, gte, lt or lte.
func (c *Condition) hasRange() bool {
	return c.Gt != nil || c.Gte != nil || c.Lt != nil || c.Lte != nil
}

// Value is the value of a comparison: a text, a number or a boolean. The zero value is null, which no comparison may
// have.
type Value struct {
	data any // string, float64 or bool
}

// Text returns the Value of a text.
func Text(s string) Value { return Value{s} }

// Number returns the Value of a number.
func Number(x float64) Value { return Value{x} }

// Bool returns the Value of a boolean.
func Bool(yes bool) Value { return Value{yes} }

// ValueOf returns the value of parsed JSON: a string, a bool or a number (float64, int or json.Number). ok is false
// for null, lists, objects and numbers beyond the range of float64.
func ValueOf(parsed any) (v Value, ok bool) {
	switch value := parsed.(type) {
	case string, bool, float64:
		return Value{value}, true
	case json.Number:
		x, err := value.Float64()
		return Value{x}, err == nil
	case int:
		return Value{float64(value)}, true
	}
	return Value{}, false
}

// Any returns the value as a string, a float64 or a bool; nil for the zero Value.
func (v Value) Any() any { return v.data }

// String returns the value as messages show it, a text in Go's quotes; "<nil>" for the zero Value.
func (v Value) String() string {
	switch value := v.data.(type) {
	case string:
		return strconv.Quote(value)
	case float64:
		return strconv.FormatFloat(value, 'g', -1, 64)
	}
	return fmt.Sprint(v.data)
}

// MarshalJSON writes the text, the number or the boolean. It implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) { return json.Marshal(v.data) }

// UnmarshalJSON reads a text, a number or a boolean, and fails for anything else. It implements json.Unmarshaler.
func (v *Value) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var parsed any
	if err := d.Decode(&parsed); err != nil {
		return err
	}
	value, ok := ValueOf(parsed)
	if !ok {
		return fmt.Errorf("%s is neither a text nor a number nor true or false", data)
	}
	*v = value
	return nil
}
