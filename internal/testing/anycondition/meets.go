package anycondition

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.org/conclave/internal/conditions"
)

// Meets reports whether a passage with these tags and this metadata meets c, by the rules of the guide. Tests compare
// it with the product's own filters, so it shares no code with them.
func Meets(c conditions.Condition, tags []string, metadata map[string]any) bool {
	inner := func(c conditions.Condition) bool { return Meets(c, tags, metadata) }
	for _, tag := range c.TagsAll {
		if !slices.Contains(tags, tag) {
			return false
		}
	}
	if len(c.TagsAny) > 0 &&
		!slices.ContainsFunc(c.TagsAny, func(tag string) bool { return slices.Contains(tags, tag) }) {
		return false
	}
	for _, one := range c.And {
		if !inner(one) {
			return false
		}
	}
	if len(c.Or) > 0 && !slices.ContainsFunc(c.Or, inner) || c.Not != nil && inner(*c.Not) {
		return false
	}
	value, there := metadata[c.Field]
	some := func(is func(v any) bool) bool { return there && is(value) }
	if c.Exists != nil && *c.Exists != there {
		return false
	}
	if c.Eq != nil && !some(func(v any) bool { return isEqual(v, *c.Eq) }) {
		return false
	}
	if c.In != nil && !some(func(v any) bool {
		return slices.ContainsFunc(c.In, func(o conditions.Value) bool { return isEqual(v, o) })
	}) {
		return false
	}
	if c.Gt == nil && c.Gte == nil && c.Lt == nil && c.Lte == nil {
		return true
	}
	return some(func(v any) bool {
		return (c.Gt == nil || isWithin(v, *c.Gt, func(order int) bool { return order > 0 })) &&
			(c.Gte == nil || isWithin(v, *c.Gte, func(order int) bool { return order >= 0 })) &&
			(c.Lt == nil || isWithin(v, *c.Lt, func(order int) bool { return order < 0 })) &&
			(c.Lte == nil || isWithin(v, *c.Lte, func(order int) bool { return order <= 0 }))
	})
}

var aDay = regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)

// kindOf returns the kind of a condition's value: "number", "bool", "date" (a day or a moment) or "word".
func kindOf(o conditions.Value) string {
	switch v := o.Any().(type) {
	case float64:
		return "number"
	case bool:
		return "bool"
	case string:
		if _, _, ok := periodOf(v); ok {
			return "date"
		}
	}
	return "word"
}

// periodOf returns the first and the last moment that a text names: those of a day (2024-05-01, in UTC) for a date,
// the same moment twice for a time in RFC 3339. ok is false for other texts.
func periodOf(s string) (first, last time.Time, ok bool) {
	if aDay.MatchString(s) {
		t, err := time.ParseInLocation("2006-01-02", s, time.UTC)
		return t, t.Add(24*time.Hour - time.Microsecond), err == nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	return t, t, err == nil && strings.Contains(s, "T")
}

// compareValues compares a value of a passage with one of a condition: n is -1, 0 or 1 as v is before, equal to or
// after o. A moment within a day equals that day; unequal booleans give 1. ok is false where the two cannot be
// compared: kinds that differ, or a text of more than 1024 bytes.
func compareValues(v any, o conditions.Value) (n int, ok bool) {
	text, isText := v.(string)
	if isText && len(text) > 1024 {
		return 0, false
	}
	switch of := o.Any().(type) {
	case float64:
		x, is := v.(float64)
		if isText {
			is = len(text) > 0 && text[0] != '"' &&
				json.Unmarshal([]byte(text), &x) == nil && strings.TrimSpace(text) == text && text != "null"
		}
		switch {
		case !is:
			return 0, false
		case x < of:
			return -1, true
		case x > of:
			return 1, true
		}
		return 0, true
	case bool:
		yes, is := v.(bool)
		if isText {
			yes = text == "true"
			is = yes || text == "false"
		}
		if yes != of {
			return 1, is
		}
		return 0, is
	case string:
		first, last, date := periodOf(of)
		if !isText {
			return 0, false
		}
		if !date {
			return strings.Compare(text, of), true
		}
		at, _, is := periodOf(text)
		switch {
		case !is:
			return 0, false
		case at.Before(first):
			return -1, true
		case at.After(last):
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// isEqual tells whether a passage's value equals a condition's; false if they do not compare.
func isEqual(v any, o conditions.Value) bool {
	n, ok := compareValues(v, o)
	return ok && n == 0
}

// isWithin calls is with the order of a passage's value to a condition's (-1, 0 or 1) and returns its result; false
// if the two cannot be compared.
func isWithin(v any, o conditions.Value, is func(order int) bool) bool {
	n, ok := compareValues(v, o)
	return ok && is(n)
}
