// Package breaking compares two descriptions of the API, in OpenAPI, and says what a caller of the older one would
// miss in the newer one.
//
// oasdiff compares descriptions, too. It would be a module with some forty others for a check that runs at a release,
// and knows nothing of what this server leaves open: that unknown fields of some bodies have no effect.
package breaking

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// fields holds a value of YAML with named parts.
type fields = map[string]any

// Breaks returns what calls of the older description break on in the newer one, a line each, in ascending order: a
// path, method, parameter, field of an answer or value that is gone, a type that changed, and what a request has to
// have that it had not to have. What is new and may be left out breaks nothing.
func Breaks(older, newer []byte) ([]string, error) {
	var from, to fields
	if err := yaml.Unmarshal(older, &from); err != nil {
		return nil, fmt.Errorf("the older description: %w", err)
	}
	if err := yaml.Unmarshal(newer, &to); err != nil {
		return nil, fmt.Errorf("the newer description: %w", err)
	}
	c := comparison{from: from, to: to, found: map[string]bool{}, open: map[string]bool{}}
	c.paths()
	return slices.Sorted(maps.Keys(c.found)), nil
}

// comparison compares two descriptions.
type comparison struct {
	from, to fields
	found    map[string]bool
	open     map[string]bool // pairs of references that are being compared: schemas refer to themselves
}

func (c *comparison) add(format string, args ...any) { c.found[fmt.Sprintf(format, args...)] = true }

func (c *comparison) paths() {
	to := under(c.to, "paths")
	for path, methods := range under(c.from, "paths") {
		for method, older := range asFields(methods) {
			if method == "parameters" || strings.HasPrefix(method, "x-") {
				continue
			}
			where := strings.ToUpper(method) + " " + path
			newer, ok := asFields(to[path])[method]
			if !ok {
				c.add("%s is gone", where)
				continue
			}
			c.operation(where, asFields(older), asFields(newer))
		}
	}
}

func (c *comparison) operation(where string, older, newer fields) {
	from := c.parameters(c.from, older)
	to := c.parameters(c.to, newer)
	for name, parameter := range from {
		if to[name] == nil {
			c.add("%s: the parameter %s is gone", where, name)
			continue
		}
		c.schema(where+" "+name, request, parameter["schema"], to[name]["schema"])
	}
	for name, parameter := range to {
		if parameter["required"] == true && (from[name] == nil || from[name]["required"] != true) {
			c.add("%s: the parameter %s is required", where, name)
		}
	}
	c.content(where+" body", request, older["requestBody"], newer["requestBody"])
	if under(c.resolve(c.to, newer["requestBody"]))["required"] == true &&
		under(c.resolve(c.from, older["requestBody"]))["required"] != true {
		c.add("%s: a body is required", where)
	}
	answers := under(newer, "responses")
	for status, answer := range under(older, "responses") {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		if answers[status] == nil {
			c.add("%s: the answer %s is gone", where, status)
			continue
		}
		c.content(where+" "+status, response, answer, answers[status])
	}
}

// parameters returns those of an operation by place and name.
func (c *comparison) parameters(all fields, operation fields) map[string]fields {
	out := map[string]fields{}
	list, _ := operation["parameters"].([]any)
	for _, p := range list {
		parameter := c.resolve(all, p)
		out[fmt.Sprint(parameter["in"], " ", parameter["name"])] = parameter
	}
	return out
}

// content compares what bodies have, by their media types.
func (c *comparison) content(where string, at direction, older, newer any) {
	to := under(c.resolve(c.to, newer), "content")
	for kind, body := range under(c.resolve(c.from, older), "content") {
		if to[kind] == nil {
			c.add("%s: %s is gone", where, kind)
			continue
		}
		c.schema(where, at, asFields(body)["schema"], asFields(to[kind])["schema"])
	}
}

// direction says who sends what a schema describes.
type direction int

const (
	request direction = iota
	response
)

// schema compares two schemas of one value. Those that combine others are compared part by part, in their order.
func (c *comparison) schema(where string, at direction, older, newer any) {
	if older == nil || newer == nil {
		return
	}
	pair := fmt.Sprint(at, asFields(older)["$ref"], " ", asFields(newer)["$ref"])
	if asFields(older)["$ref"] != nil && asFields(newer)["$ref"] != nil {
		if c.open[pair] {
			return // with the same result
		}
		c.open[pair] = true
		where = strings.TrimPrefix(fmt.Sprint(asFields(older)["$ref"]), "#/components/schemas/")
	}
	from, to := c.resolve(c.from, older), c.resolve(c.to, newer)
	for _, kind := range types(from) {
		if to["type"] != nil && !slices.Contains(types(to), kind) && (kind != "integer" || !slices.Contains(types(to), "number")) {
			c.add("%s: %s became %s", where, kind, strings.Join(types(to), " or "))
		}
	}
	c.values(where, at, from, to)
	properties := under(to, "properties")
	for name, property := range under(from, "properties") {
		if properties[name] == nil {
			c.add("%s: the field %s is gone", where, name)
			continue
		}
		c.schema(where+"."+name, at, property, properties[name])
	}
	was := texts(from["required"])
	is := texts(to["required"])
	for _, name := range is {
		if at == request && !slices.Contains(was, name) {
			c.add("%s: the field %s is required", where, name)
		}
	}
	for _, name := range was {
		if at == response && !slices.Contains(is, name) && properties[name] != nil {
			c.add("%s: the field %s may be left out", where, name)
		}
	}
	c.schema(where+"[]", at, from["items"], to["items"])
	for _, combined := range []string{"allOf", "oneOf", "anyOf"} {
		parts, _ := from[combined].([]any)
		others, _ := to[combined].([]any)
		for i, part := range parts {
			if i < len(others) {
				c.schema(where, at, part, others[i])
			} else {
				c.add("%s: an alternative of %s is gone", where, combined)
			}
		}
	}
}

// values compares the values that a field may have: a request may have what it might have before, an answer has nothing
// that nobody expects.
func (c *comparison) values(where string, at direction, from, to fields) {
	was := texts(from["enum"])
	is := texts(to["enum"])
	if at == request {
		for _, value := range was {
			if is != nil && !slices.Contains(is, value) {
				c.add("%s: the value %s is gone", where, value)
			}
		}
		for bound, sign := range map[string]float64{"maximum": 1, "maxLength": 1, "maxItems": 1, "minimum": -1, "minLength": -1, "minItems": -1} {
			older, had := number(from[bound])
			newer, has := number(to[bound])
			if has && (!had || sign*newer < sign*older) {
				c.add("%s: %s became %v", where, bound, to[bound])
			}
		}
	}
}

// resolve follows a reference within a description.
func (c *comparison) resolve(all fields, value any) fields {
	out := asFields(value)
	for range 10 {
		name, ok := out["$ref"].(string)
		if !ok {
			break
		}
		target := any(all)
		for part := range strings.SplitSeq(strings.TrimPrefix(name, "#/"), "/") {
			target = asFields(target)[part]
		}
		out = asFields(target)
	}
	return out
}

func asFields(value any) fields {
	out, _ := value.(fields)
	return out
}

// under returns the part of a value at a path of names.
func under(value fields, path ...string) fields {
	for _, name := range path {
		value = asFields(value[name])
	}
	return value
}

func types(schema fields) []string {
	if list := texts(schema["type"]); list != nil {
		return list
	}
	if schema["type"] != nil {
		return []string{fmt.Sprint(schema["type"])}
	}
	return nil
}

func texts(value any) []string {
	list, _ := value.([]any)
	var out []string
	for _, v := range list {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

func number(value any) (float64, bool) {
	switch value := value.(type) {
	case int:
		return float64(value), true
	case float64:
		return value, true
	}
	return 0, false
}
