package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"example.org/conclave/internal/wording"
)

// Checker checks parsed JSON against a schema of the document and collects at most Most mistakes. The JSON Schema
// library of the tests has no such limit: 32,000 mistakes in one list cost it 67 ms and 14 MB. A test compares the two.
type Checker struct {
	Most  int // mistakes that are collected
	found []violation
}

// violation is one mistake: its code, the JSON pointer to the value, and a text for users.
type violation struct {
	code, pointer, detail string
}

// MaxViolations bounds how many mistakes one answer lists.
const MaxViolations = 20

// maxEntries bounds an object whose keys may be anything: weights of sources, a
// passage's metadata.
const maxEntries = 1024

// Decode checks a parsed body against a schema and stores it in the variable that into points to (Fill). If the body
// violates the schema, it returns a problem that names at most so many mistakes, and stores nothing.
func Decode(s *Schema, body any, mistakes int, into any) *Problem {
	c := Checker{Most: min(mistakes, MaxViolations)}
	body = c.Check(s, body, "")
	if p := c.Problem(); p != nil {
		return p
	}
	// Names are exact and types are right by now, so that there is nothing left to repair.
	if err := Fill(body, into); err != nil {
		return NewProblem("wrong_type", "The body does not fit its schema.").Because(err)
	}
	return nil
}

// addMistake adds a mistake, even if Most were found already: the caller looks at isFull. format and args make the text
// for users, which follows the pointer in messages, such as "is 0: it has to be …".
func (c *Checker) addMistake(code, pointer, format string, args ...any) {
	c.found = append(c.found, violation{code, pointer, fmt.Sprintf(format, args...)})
}

// isFull reports whether Most mistakes were found, so that checking can stop.
func (c *Checker) isFull() bool { return len(c.found) >= c.Most }

// Check adds the mistakes of the parsed JSON v by schema s to those found, and stops early once Most were found.
// pointer is the JSON pointer to v in the body, "" for the body itself. It returns v with its integers in plain form
// (10.0 as 10); lists and objects are changed in place.
func (c *Checker) Check(s *Schema, v any, pointer string) any {
	if c.isFull() {
		return v
	}
	for _, alternative := range s.OneOf {
		if given := typeName(v); given == alternative.Type || alternative.Type == "integer" && given == "number" {
			return c.Check(alternative, v, pointer)
		}
	}
	given := typeName(v)
	switch {
	case given == s.Type, s.Type == "integer" && given == "number":
	case s.Type == "" && s.OneOf == nil:
		return v
	case v == nil:
		c.addMistake(
			"wrong_type", pointer, "is null: it has to be %s; leave the field out for its default", s.describeAllowed(),
		)
		return v
	default:
		c.addMistake("wrong_type", pointer, "%s: it has to be %s", describeValue(v), s.describeAllowed())
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		c.checkObject(s, v, pointer)
	case []any:
		if len(v) < s.MinItems {
			c.addMistake("out_of_range", pointer, "has %d entries: it needs at least %d", len(v), s.MinItems)
		}
		for i := 0; i < len(v) && !c.isFull(); i++ {
			v[i] = c.Check(s.Items, v[i], wording.Pointer(pointer, i))
		}
	case string:
		if s.Enum != nil && !slices.Contains(s.Enum, v) {
			code := s.Code
			if code == "" {
				code = "unknown_value"
			}
			c.addMistake(code, pointer, "is %s: it has to be one of %s", wording.Quote(v), strings.Join(s.Enum, ", "))
		}
	case json.Number:
		return c.checkNumber(s, v, pointer)
	}
	return v
}

// checkObject checks the fields of an object: unknown ones, required ones that are missing, and the values of the
// others.
func (c *Checker) checkObject(s *Schema, object map[string]any, pointer string) {
	at := func(name string) string { return wording.Shorten(wording.Pointer(pointer, wording.Shorten(name))) }
	if s.rest != nil {
		if len(object) > maxEntries {
			c.addMistake("out_of_range", pointer, "has %d entries: it may have %d", len(object), maxEntries)
			return
		}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			object[name] = c.Check(s.rest, object[name], at(name))
		}
		return
	}
	known := slices.Sorted(maps.Keys(s.Properties))
	given := 0
	for _, name := range known {
		if value, ok := object[name]; ok {
			given++
			object[name] = c.Check(s.Properties[name], value, at(name))
		}
	}
	if len(object) > given {
		c.addUnknown(s, object, at, known, len(object)-given)
	}
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			c.addMistake("missing_field", pointer+wording.Pointer("", name), "is missing")
		}
	}
}

// addUnknown adds a mistake for each of the first unknown fields of an object, and one with the number of the others. n
// is how many there are, known the fields that it may have.
func (c *Checker) addUnknown(s *Schema, object map[string]any, at func(string) string, known []string, n int) {
	var first []string // in order
	for name := range object {
		if _, ok := s.Properties[name]; ok {
			continue
		}
		place, _ := slices.BinarySearch(first, name)
		if place < MaxViolations {
			first = slices.Insert(first, place, name)
			first = first[:min(len(first), MaxViolations)]
		}
	}
	for _, name := range first {
		if c.isFull() {
			return
		}
		more := ""
		if n > MaxViolations {
			more = fmt.Sprintf(" (and %d more are none)", n-1)
		}
		c.addMistake(
			"unknown_field", at(name), "%s is no field here%s%s; the fields are %s", wording.Quote(name), more,
			didYouMean(name, s.Properties), strings.Join(known, ", "),
		)
	}
}

// fieldSynonyms returns the field names of other interfaces with our names for the same thing.
func fieldSynonyms() map[string]string {
	return map[string]string{
		"query": "question", "q": "question", "text": "question", "prompt": "question",
		"limit": "k", "topk": "k", "size": "k", "n": "k", "count": "k", "results": "k",
		"method": "fusion", "include": "fields", "from": "offset", "skip": "offset", "timeout": "timeout_ms", "filters": "filter",
		"id": "name", "content": "text", "contents": "text", "body": "text", "texts": "input", "inputs": "input", "model": "expert",
	}
}

// didYouMean returns a hint with the known field that was probably meant: the same letters in other case or without
// underscores, or another interface's name for it. It returns "" if there is none.
func didYouMean(name string, known map[string]*Schema) string {
	plain := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(wording.Shorten(name)))
	meant := fieldSynonyms()[plain]
	if _, ok := known[QuestionParameter]; ok && (meant == "question" || plain == "question") {
		meant = QuestionParameter // in a query string
	}
	if _, ok := known[meant]; !ok {
		meant = ""
		for other := range known {
			if strings.ReplaceAll(other, "_", "") == plain {
				meant = other
			}
		}
	}
	if meant == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", meant)
}

// checkNumber adds a mistake if a number is out of range or, for an integer, has a fraction or is too large for an
// exact float64. It returns the number, an integer in plain form: JSON Schema counts 10.0 and 1e1 among the integers,
// and encoding/json does not. A faulty one is returned as it is.
func (c *Checker) checkNumber(s *Schema, n json.Number, pointer string) any {
	f, err := n.Float64()
	switch {
	case err != nil || math.IsInf(f, 0) || s.Minimum != nil && f < *s.Minimum || s.Maximum != nil && f > *s.Maximum:
		c.addMistake(
			"out_of_range", pointer, "is %s: it has to be %s", wording.Shorten(n.String()), s.describeAllowed(),
		)
		return n
	case s.Type == "number":
		return n
	case f != math.Trunc(f):
		c.addMistake("wrong_type", pointer, "is %s: it has to be %s", wording.Shorten(n.String()), s.describeAllowed())
		return n
	}
	if _, err := strconv.Atoi(n.String()); err == nil {
		return n
	}
	if math.Abs(f) > 1<<53 {
		c.addMistake("out_of_range", pointer, "is %s: that is too large a number", wording.Shorten(n.String()))
		return n
	}
	return json.Number(strconv.FormatInt(int64(f), 10))
}

// Problem returns a problem that lists the mistakes; nil if there are none. If one is a mistake of form (400), the
// problem is that, otherwise one of value (422).
func (c *Checker) Problem() *Problem {
	if len(c.found) == 0 {
		return nil
	}
	first := c.found[0]
	var fields []ProblemField
	for _, v := range c.found {
		if problemCodeOf(v.code).Status < problemCodeOf(first.code).Status {
			first = v
		}
		fields = append(fields, ProblemField{Pointer: v.pointer, Detail: v.detail})
	}
	where := first.pointer
	if where == "" {
		where = "The body"
	}
	return NewProblem(first.code, where+" "+first.detail+".", fields...)
}

// describeAllowed returns what a value has to be, for users: "a whole number from 1 to 1000".
func (s *Schema) describeAllowed() string {
	if s.OneOf != nil {
		var alternatives []string
		for _, alternative := range s.OneOf {
			alternatives = append(alternatives, withArticle(alternative.Type))
		}
		return strings.Join(alternatives, " or ")
	}
	text := withArticle(s.Type)
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		text += fmt.Sprintf(" from %v to %v", *s.Minimum, *s.Maximum)
	case s.Minimum != nil:
		text += fmt.Sprintf(" of at least %v", *s.Minimum)
	case s.Maximum != nil:
		text += fmt.Sprintf(" of at most %v", *s.Maximum)
	}
	return text
}

// describeValue returns a value for an error message: itself if it is short, else its type.
func describeValue(v any) string {
	switch v := v.(type) {
	case string:
		return "is " + wording.Quote(v)
	case json.Number:
		return "is " + wording.Shorten(v.String())
	case bool:
		return fmt.Sprintf("is %t", v)
	}
	return "is " + withArticle(typeName(v))
}

// typeName returns the JSON Schema type of parsed JSON; numbers are "number".
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

// withArticle returns a JSON Schema type for users, with its article: "a string", "a list", "true or false".
func withArticle(jsonType string) string {
	switch jsonType {
	case "boolean":
		return "true or false"
	case "integer":
		return "a whole number"
	case "array":
		return "a list"
	case "object":
		return "an object"
	}
	return "a " + jsonType
}
