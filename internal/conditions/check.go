package conditions

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"example.org/conclave/internal/wording"
)

// What a condition may be.
const (
	MaxDepth      = 16     // conditions inside each other
	MaxConditions = 256    // in all
	MaxValues     = 16_384 // in all
	MaxFieldBytes = 512
	MaxWordBytes  = 1024 // of a text that is compared; longer ones of passages are not
)

// Problem is one fault of a condition.
type Problem struct {
	Code    string // "out_of_range", "wrong_type" or "empty_condition"
	Pointer string // to the part, from the whole condition
	Detail  string
	Field   string // whose values others do not fit; "": it is about the condition alone
}

// Check returns the faults in the form of a condition, at most mostProblems; nil if there are none. It calls tags,
// which may be nil, with the lists of tags of each condition inside And, Or and Not, and with their JSON pointers:
// it does not check tags itself.
func (c *Condition) Check(tags func(pointer string, tags []string)) []Problem {
	k := conditionChecker{tags: tags}
	k.checkCondition(c, "", 0)
	return k.problems
}

// conditionChecker collects the faults in the form of a condition.
type conditionChecker struct {
	problems           []Problem
	conditions, values int
	tags               func(pointer string, tags []string)
}

const mostProblems = 20

// addProblem adds a problem, unless there are mostProblems already.
func (k *conditionChecker) addProblem(code, pointer, format string, args ...any) {
	if len(k.problems) < mostProblems {
		k.problems = append(k.problems, Problem{Code: code, Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
}

// checkCondition adds the problems of a condition and its parts. at is its JSON pointer, "" for the outermost, and
// depth the number of conditions around it. What is nested too deep, or comes after MaxConditions conditions, is
// not looked at.
func (k *conditionChecker) checkCondition(c *Condition, at string, depth int) {
	k.conditions++
	switch {
	case depth > MaxDepth:
		k.addProblem("out_of_range", at, "conditions stand inside each other more than %d deep", MaxDepth)
		return
	case k.conditions == MaxConditions+1:
		k.addProblem("out_of_range", "", "there are more than %d conditions", MaxConditions)
		return
	case k.conditions > MaxConditions:
		return
	}
	if depth > 0 {
		if c.Empty() {
			k.addProblem("empty_condition", at, "the condition is empty: it needs a field, tags, and, or, or not")
			return
		}
		if k.tags != nil {
			k.tags(at+"/tags_all", c.TagsAll)
			k.tags(at+"/tags_any", c.TagsAny)
		}
	}
	k.checkField(c, at)
	k.checkComparisons(c, at)
	for _, list := range []struct {
		name       string
		conditions []Condition
	}{{"and", c.And}, {"or", c.Or}} {
		for i := range list.conditions {
			k.checkCondition(&list.conditions[i], wording.Pointer(at+"/"+list.name, i), depth+1)
		}
	}
	if c.Not != nil {
		k.checkCondition(c.Not, at+"/not", depth+1)
	}
}

// checkField notes a problem if a condition has comparisons and no field, a field and no comparisons, or a field
// that is too long. at is the JSON Pointer of the condition.
func (k *conditionChecker) checkField(c *Condition, at string) {
	switch {
	case c.Field == "" && c.comparesField():
		k.addProblem("empty_condition", at+"/field", "field is missing: name the field of the metadata that is compared")
	case c.Field != "" && !c.comparesField():
		k.addProblem("empty_condition", at+"/field",
			"the condition on the field %s compares nothing: add eq, in, gt, gte, lt, lte or exists", wording.Quote(c.Field))
	case len(c.Field) > MaxFieldBytes:
		k.addProblem(
			"out_of_range", at+"/field", "the field has %d bytes: at most %d are allowed", len(c.Field), MaxFieldBytes,
		)
	}
}

// checkComparisons notes the problems of a condition's comparisons: values that checkValue refuses, too many of
// them, two lower or two upper bounds, and a boolean as a bound. at is the JSON Pointer of the condition.
func (k *conditionChecker) checkComparisons(c *Condition, at string) {
	for _, bound := range c.boundsAndEq() {
		k.checkValue(*bound.value, at+"/"+bound.name)
	}
	for i, v := range c.In {
		k.checkValue(v, wording.Pointer(at+"/in", i))
	}
	k.values += len(c.In)
	if k.values > MaxValues {
		k.addProblem("out_of_range", at+"/in", "there are %d values: at most %d are allowed", k.values, MaxValues)
	}
	if c.Gt != nil && c.Gte != nil {
		k.addProblem("out_of_range", at+"/gt", "gt and gte are both given: leave out one")
	}
	if c.Lt != nil && c.Lte != nil {
		k.addProblem("out_of_range", at+"/lt", "lt and lte are both given: leave out one")
	}
	for _, bound := range c.bounds() {
		if _, is := bound.value.data.(bool); is {
			k.addProblem("wrong_type", at+"/"+bound.name, "is %v: a boolean has no order; use eq", bound.value)
		}
	}
}

// checkValue notes a problem if a value is null, too long, or not valid UTF-8. at is the JSON Pointer of the value.
func (k *conditionChecker) checkValue(v Value, at string) {
	switch value := v.data.(type) {
	case nil:
		k.addProblem("wrong_type", at, "is null: it has to be a text, a number, or true or false")
	case string:
		if len(value) > MaxWordBytes {
			k.addProblem("out_of_range", at, "has %d bytes: values of at most %d are compared", len(value), MaxWordBytes)
		}
		if !utf8.ValidString(value) {
			k.addProblem(
				"out_of_range", at, "is no text in UTF-8: %s", wording.Quote(strings.ToValidUTF8(value, "\ufffd")),
			)
		}
	}
}

// bound is the value of a comparison, with the comparison's name, such as "gt".
type bound struct {
	name  string
	value *Value
}

// bounds returns the comparisons gt, gte, lt and lte that the condition has, in this order, each with its name and
// value; nil if it has none.
func (c *Condition) bounds() []bound {
	var out []bound
	for _, b := range []bound{{"gt", c.Gt}, {"gte", c.Gte}, {"lt", c.Lt}, {"lte", c.Lte}} {
		if b.value != nil {
			out = append(out, b)
		}
	}
	return out
}

// boundsAndEq returns the comparisons eq, gt, gte, lt and lte that the condition has, in this order, each with its name
// and value; nil if it has none.
func (c *Condition) boundsAndEq() []bound {
	if c.Eq == nil {
		return c.bounds()
	}
	return append([]bound{{"eq", c.Eq}}, c.bounds()...)
}
