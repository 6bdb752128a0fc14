package adapters

import (
	"strings"
	"time"

	"example.org/conclave/internal/conditions"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The names by which callers compare a passage's tags, and parts of its document that attributesOf gives
// them under other names than the metadata have.
const (
	tagsKey     = "tags"
	documentKey = "document"
)

// fieldOf returns the metadata key for an attribute of another interface: "document_source" for "source",
// "document_title" for "document_name", and the name itself for any other.
func fieldOf(attribute string) string {
	switch attribute {
	case "source":
		return "document_source"
	case "document_name":
		return "document_title"
	}
	return attribute
}

// valuesOf returns the values in a JSON text that is a value or a list of values; ok is false if it is neither. An
// empty text is neither.
func valuesOf(raw jsontext.Value) (values []conditions.Value, ok bool) {
	if len(raw) == 0 {
		return nil, false
	}
	if raw[0] != '[' {
		var one conditions.Value
		err := json.Unmarshal(raw, &one)
		return []conditions.Value{one}, err == nil
	}
	err := json.Unmarshal(raw, &values)
	return values, err == nil
}

// oneOf returns the condition that a field has one of some values; for the attribute tags, that a passage has one of
// them as a tag. ok is false if there are no values, or a tag is not a text.
func oneOf(attribute string, values []conditions.Value) (c conditions.Condition, ok bool) {
	if len(values) == 0 {
		return c, false
	}
	if attribute != tagsKey {
		return conditions.Condition{Field: fieldOf(attribute), In: values}, true
	}
	for _, v := range values {
		tag, is := v.Any().(string)
		if !is {
			return c, false
		}
		c.TagsAny = append(c.TagsAny, tag)
	}
	return c, true
}

// negate returns the condition that c is not met.
func negate(c conditions.Condition) conditions.Condition { return conditions.Condition{Not: &c} }

// compare returns the condition that a field is greater than a value ("gt"), at least it ("gte"), less ("lt"), or at
// most it (any other text). attribute is the field's name in the other interface (fieldOf).
func compare(attribute, by string, v conditions.Value) conditions.Condition {
	c := conditions.Condition{Field: fieldOf(attribute)}
	switch by {
	case "gt":
		c.Gt = &v
	case "gte":
		c.Gte = &v
	case "lt":
		c.Lt = &v
	default:
		c.Lte = &v
	}
	return c
}

// condition returns the filter of OpenAI's vector stores as a condition. It returns a problem if the comparison is
// unknown, the filter has no key or a value that does not fit, or "and" or "or" joins nothing. The attribute tags
// stands for the tags of a passage.
func (f *storeFilter) condition() (c conditions.Condition, err error) {
	if f.Type == "and" || f.Type == "or" {
		var all []conditions.Condition
		for i := range f.Filters {
			one, err := f.Filters[i].condition()
			if err != nil {
				return c, err
			}
			all = append(all, one)
		}
		if all == nil {
			return c, fieldError("out_of_range", "/filters", "%q joins filters, and there are none", f.Type)
		}
		if f.Type == "and" {
			return conditions.Condition{And: all}, nil
		}
		return conditions.Condition{Or: all}, nil
	}
	values, ok := valuesOf(f.Value)
	if !ok || f.Key == "" {
		return c, fieldError(
			"wrong_type", "/filters",
			"a filter has to have a key, and as its value a text, a number, true or false, or a list of them; tags are texts",
		)
	}
	switch f.Type {
	case "eq", "in", "ne", "nin":
		c, ok = oneOf(f.Key, values)
		if f.Type == "ne" || f.Type == "nin" {
			c = negate(c)
		}
	case "gt", "gte", "lt", "lte":
		ok = len(values) == 1 && f.Key != tagsKey
		c = compare(f.Key, f.Type, values[0])
	default:
		return c, fieldError(
			"unknown_value", "/filters",
			"the filter %.32q is not known: eq, ne, gt, gte, lt, lte, in and nin compare, and and or join", f.Type,
		)
	}
	if !ok {
		return c, fieldError(
			"wrong_type", "/filters", "the value of the filter %q on %.32q does not fit: %.64s", f.Type, f.Key, f.Value,
		)
	}
	return c, nil
}

// condition returns Dify's condition as one of ours; ok is false if the comparison is unknown or the value does not fit
// it.
func (c *difyCondition) condition() (out conditions.Condition, ok bool) {
	var any []conditions.Condition
	for _, name := range c.Name {
		one, ok := c.onField(name)
		if !ok {
			return out, false
		}
		any = append(any, one)
	}
	if len(any) == 1 {
		return any[0], true
	}
	return conditions.Condition{Or: any}, len(any) > 0
}

// onField returns the condition with c's comparison and value for the field with this name in Dify; tags stands for the
// tags of a passage. ok is false if the comparison is unknown, or the value does not fit it or the field. Texts that
// are numbers, dates or lists with commas are taken as these, since Dify writes them so.
func (c *difyCondition) onField(name string) (out conditions.Condition, ok bool) {
	switch c.Comparison {
	case "empty", "not empty":
		return conditions.Condition{Field: fieldOf(name), Exists: new(c.Comparison == "not empty")}, name != tagsKey
	}
	values, ok := valuesOf(c.Value)
	if !ok || len(values) == 0 {
		return out, false
	}
	switch c.Comparison {
	case "is", "in", "is not", "not in":
		out, ok = oneOf(name, splitCommas(values))
		if strings.Contains(c.Comparison, "not") {
			out = negate(out)
		}
		return out, ok
	case "contains", "not contains":
		out, ok = oneOf(name, values)
		if c.Comparison == "not contains" {
			out = negate(out)
		}
		return out, ok && name == tagsKey // of other fields nobody knows what is within a word
	}
	text, isText := values[0].Any().(string)
	if name == tagsKey || len(values) > 1 {
		return out, false
	}
	if c.Comparison == "start with" {
		return conditions.Condition{
			Field: fieldOf(name), Gte: new(conditions.Text(text)), Lt: new(conditions.Text(text + "\U0010ffff")),
		}, isText && text != ""
	}
	if by, is := map[string]string{"before": "lt", "after": "gt"}[c.Comparison]; is {
		return compare(name, by, dateValue(values[0])), true
	}
	v := values[0]
	if number, is := conditions.ParseNumber(text); is {
		v = conditions.Number(number) // Dify writes numbers as texts
	}
	if by, is := map[string]string{">": "gt", "<": "lt", "≥": "gte", "≤": "lte"}[c.Comparison]; is {
		return compare(name, by, v), true
	}
	out = conditions.Condition{Field: fieldOf(name), Eq: &v}
	if c.Comparison == "≠" {
		out = negate(out)
	}
	return out, c.Comparison == "=" || c.Comparison == "≠"
}

// splitCommas returns the values as they are or, if there is a single text with commas in it, that text followed by the
// parts between the commas, since Dify writes lists so. values must not be empty.
func splitCommas(values []conditions.Value) []conditions.Value {
	text, is := values[0].Any().(string)
	if len(values) > 1 || !is || !strings.Contains(text, ",") {
		return values
	}
	out := values
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part != "" {
			out = append(out, conditions.Text(part))
		}
	}
	return out
}

// dateValue returns the value of a date as RFC 3339 if v is a number, or a text that is one: seconds since 1970, as
// Dify writes some dates. Any other value is returned unchanged.
func dateValue(v conditions.Value) conditions.Value {
	seconds, is := v.Any().(float64)
	if text, isText := v.Any().(string); isText {
		seconds, is = conditions.ParseNumber(text)
	}
	if !is {
		return v
	}
	return conditions.Text(time.Unix(int64(seconds), 0).UTC().Format(time.RFC3339))
}
