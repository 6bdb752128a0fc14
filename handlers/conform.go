package handlers

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// conform checks parsed JSON against the schema that the OpenAPI document
// publishes for it, so that what is documented is what is enforced. It is used
// instead of huma's own validation, which matches keys without regard to case,
// takes keys with dots for paths, and points with "body.k" instead of JSON
// pointers.
//
// It knows the part of JSON Schema that our request types use: $ref, oneOf by
// type, type, enum, minimum, maximum, required, properties,
// additionalProperties, items, minItems.
type conform struct {
	registry huma.Registry
	most     int // mistakes that are told; 0: maxViolations
	found    []violation
	rewrote  bool // an integer was written as 10.0 or 1e1
}

type violation struct {
	code, pointer, detail string
}

// maxViolations bounds how many mistakes one answer lists.
const maxViolations = 20

// maxEntries bounds an object whose keys may be anything: weights of sources, a
// passage's metadata.
const maxEntries = 1024

func (c *conform) fail(code, pointer, format string, args ...any) {
	c.found = append(c.found, violation{code, pointer, fmt.Sprintf(format, args...)})
}

// enough reports whether so many mistakes were found that no more are looked
// for.
func (c *conform) enough() bool {
	most := c.most
	if most == 0 {
		most = maxViolations
	}
	return len(c.found) >= most
}

// check compares v with s and returns v with its integers in plain form.
func (c *conform) check(s *huma.Schema, v any, pointer string) any {
	if c.enough() {
		return v
	}
	for s.Ref != "" {
		s = c.registry.SchemaFromRef(s.Ref)
	}
	if len(s.OneOf) > 0 {
		for _, alternative := range s.OneOf {
			if typeName(v) == alternative.Type {
				return c.check(alternative, v, pointer)
			}
		}
		c.fail("wrong_type", pointer, "%s: it has to be %s", instead(v), alternatives(s.OneOf))
		return v
	}
	switch s.Type {
	case huma.TypeObject:
		return c.object(s, v, pointer)
	case huma.TypeArray:
		return c.array(s, v, pointer)
	case huma.TypeString:
		text, ok := v.(string)
		if !ok {
			c.wrongType(s, v, pointer)
		} else if len(s.Enum) > 0 && !slices.Contains(s.Enum, any(text)) {
			code, _ := s.Extensions["x-code"].(string)
			if code == "" {
				code = "unknown_value"
			}
			c.fail(code, pointer, "is %s: it has to be one of %s", quoted(text), words(s.Enum))
		}
	case huma.TypeBoolean:
		if _, ok := v.(bool); !ok {
			c.wrongType(s, v, pointer)
		}
	case huma.TypeInteger, huma.TypeNumber:
		return c.number(s, v, pointer)
	}
	return v
}

func (c *conform) object(s *huma.Schema, v any, pointer string) any {
	object, ok := v.(map[string]any)
	if !ok {
		c.wrongType(s, v, pointer)
		return v
	}
	at := func(name string) string { return shorten(pointer + "/" + escapePointer(shorten(name))) }
	if rest, ok := s.AdditionalProperties.(*huma.Schema); ok {
		if len(object) > maxEntries {
			c.fail("out_of_range", pointer, "has %d entries: it may have %d", len(object), maxEntries)
			return v
		}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			object[name] = c.check(rest, object[name], at(name))
		}
		return object
	}
	known := slices.Sorted(maps.Keys(s.Properties))
	there := 0
	for _, name := range known {
		if value, ok := object[name]; ok {
			there++
			object[name] = c.check(s.Properties[name], value, at(name))
		}
	}
	if s.AdditionalProperties == false && len(object) > there {
		c.unknown(s, object, at, known, len(object)-there)
	}
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			c.fail("missing_field", pointer+"/"+escapePointer(name), "is missing")
		}
	}
	return object
}

// unknown tells of fields that are not known: of the first few, and how many
// more there are.
func (c *conform) unknown(s *huma.Schema, object map[string]any, at func(string) string, known []string, n int) {
	var first []string // in order
	for name := range object {
		if _, ok := s.Properties[name]; ok {
			continue
		}
		place, _ := slices.BinarySearch(first, name)
		if place < maxViolations {
			first = slices.Insert(first, place, name)
			first = first[:min(len(first), maxViolations)]
		}
	}
	for _, name := range first {
		if c.enough() {
			return
		}
		more := ""
		if n > maxViolations {
			more = fmt.Sprintf(" (and %d more are none)", n-1)
		}
		c.fail("unknown_field", at(name), "%s is no field here%s%s; the fields are %s", quoted(name), more, didYouMean(name, s.Properties), strings.Join(known, ", "))
	}
}

// synonyms are what other interfaces call our fields.
func synonyms() map[string]string {
	return map[string]string{
		"query": "question", "q": "question", "text": "question", "prompt": "question",
		"limit": "k", "topk": "k", "size": "k", "n": "k", "count": "k", "results": "k",
		"method": "fusion", "include": "fields", "from": "offset", "skip": "offset", "timeout": "timeout_ms", "filters": "filter",
		"id": "name", "content": "text", "contents": "text", "body": "text", "texts": "input", "inputs": "input", "model": "expert",
	}
}

// didYouMean helps with the commonest mistakes in names: capitals and
// underscores, and another interface's name.
func didYouMean(name string, properties map[string]*huma.Schema) string {
	plain := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(shorten(name)))
	known := synonyms()[plain]
	if _, ok := properties[known]; !ok {
		known = ""
		for property := range properties {
			if strings.ReplaceAll(property, "_", "") == plain {
				known = property
			}
		}
	}
	if known == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", known)
}

func (c *conform) array(s *huma.Schema, v any, pointer string) any {
	list, ok := v.([]any)
	if !ok {
		c.wrongType(s, v, pointer)
		return v
	}
	if s.MinItems != nil && len(list) < *s.MinItems {
		c.fail("out_of_range", pointer, "has %d entries: it needs at least %d", len(list), *s.MinItems)
	}
	for i := range list {
		if c.enough() {
			break
		}
		list[i] = c.check(s.Items, list[i], pointer+"/"+strconv.Itoa(i))
	}
	return list
}

// number checks a number. JSON Schema counts 10.0 and 1e1 among the integers,
// encoding/json does not, so they are rewritten.
func (c *conform) number(s *huma.Schema, v any, pointer string) any {
	n, ok := v.(json.Number)
	if !ok {
		c.wrongType(s, v, pointer)
		return v
	}
	f, err := n.Float64()
	low, high := limitsOf(s)
	switch {
	case err != nil || math.IsInf(f, 0) || f < low || f > high:
		c.fail("out_of_range", pointer, "is %s: it has to be %s", shorten(n.String()), allowed(s))
		return v
	case s.Type == huma.TypeNumber:
		return v
	case f != math.Trunc(f):
		c.fail("wrong_type", pointer, "is %s: it has to be %s", shorten(n.String()), allowed(s))
		return v
	}
	if _, err := strconv.Atoi(n.String()); err == nil {
		return v
	}
	if math.Abs(f) > 1<<53 {
		c.fail("out_of_range", pointer, "is %s: that is too large a number", shorten(n.String()))
		return v
	}
	c.rewrote = true
	return json.Number(strconv.FormatInt(int64(f), 10))
}

// limitsOf is the range of a number.
func limitsOf(s *huma.Schema) (low, high float64) {
	low, high = math.Inf(-1), math.Inf(1)
	if s.Minimum != nil {
		low = *s.Minimum
	}
	if s.Maximum != nil {
		high = *s.Maximum
	}
	return low, high
}

// allowed says what a value has to be: "a whole number from 1 to 1000".
func allowed(s *huma.Schema) string {
	low, high := limitsOf(s)
	text := article(s.Type)
	switch {
	case math.IsInf(low, -1) && math.IsInf(high, 1):
	case math.IsInf(high, 1):
		text += fmt.Sprintf(" of at least %v", low)
	case math.IsInf(low, -1):
		text += fmt.Sprintf(" of at most %v", high)
	default:
		text += fmt.Sprintf(" from %v to %v", low, high)
	}
	return text
}

func (c *conform) wrongType(s *huma.Schema, v any, pointer string) {
	if v == nil {
		c.fail("wrong_type", pointer, "is null: it has to be %s; leave the field out for its default", allowed(s))
		return
	}
	c.fail("wrong_type", pointer, "%s: it has to be %s", instead(v), allowed(s))
}

// instead says what a value is: itself, where it is short by nature.
func instead(v any) string {
	switch v := v.(type) {
	case string:
		return "is " + quoted(v)
	case json.Number:
		return "is " + shorten(v.String())
	case bool:
		return fmt.Sprintf("is %t", v)
	case nil:
		return "is null"
	}
	return "is " + article(typeName(v))
}

// problem sums up what was found, or is nil. A mistake of form (400) names
// the problem before a mistake of value (422).
func (c *conform) problem() *Problem {
	if len(c.found) == 0 {
		return nil
	}
	first := c.found[0]
	for _, v := range c.found[1:] {
		if conditionOf(v.code).status < conditionOf(first.code).status {
			first = v
		}
	}
	var fields []ProblemField
	for _, v := range c.found {
		fields = append(fields, ProblemField{Pointer: v.pointer, Detail: v.detail})
	}
	where := first.pointer
	if where == "" {
		where = "The body"
	}
	return newProblem(first.code, where+" "+first.detail+".", fields...)
}

// typeName is the JSON Schema type of parsed JSON; numbers are "number".
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return huma.TypeBoolean
	case string:
		return huma.TypeString
	case json.Number:
		return huma.TypeNumber
	case []any:
		return huma.TypeArray
	}
	return huma.TypeObject
}

func article(jsonType string) string {
	switch jsonType {
	case huma.TypeBoolean:
		return "true or false"
	case huma.TypeInteger:
		return "a whole number"
	case huma.TypeArray:
		return "a list"
	case huma.TypeObject:
		return "an object"
	}
	return "a " + jsonType
}

func alternatives(schemas []*huma.Schema) string {
	var out []string
	for _, s := range schemas {
		out = append(out, article(s.Type))
	}
	return strings.Join(out, " or ")
}

func words(values []any) string {
	var out []string
	for _, v := range values {
		out = append(out, fmt.Sprint(v))
	}
	return strings.Join(out, ", ")
}
