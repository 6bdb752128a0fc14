package conditions

import (
	"fmt"
	"math"

	"example.org/conclave/internal/wording"
)

// Type is the declared type of a field of metadata.
type Type string

// The types. Without one, what a condition names decides.
const (
	Keyword Type = "keyword"
	Numeric Type = "number"
	Date    Type = "date"
	Boolean Type = "bool"
	// Disputed is the type of a field that several collections, which are searched as one, declare otherwise: no value
	// fits it. It cannot be declared.
	Disputed Type = "disputed"
)

// Node is a compiled condition, which stores evaluate: the kinds of its values are known.
type Node struct {
	Op    Op
	Nodes []Node   // of And, Or and Not
	Tag   string   // of HasTag
	Field string   // of HasField and Within
	Test  Interval // of Within
	At    string   // the pointer to the value, of Within
	Said  string   // the value as it was written, of Within
}

// Op is the operation of a Node.
type Op byte

// And and Or of no nodes are met by all and by none.
const (
	And Op = iota
	Or
	Not
	HasTag
	HasField
	Within
)

// Interval is a set of values of one kind. For words it has those from From up to To, without To; To "" means no bound.
// For other kinds it has the keys from Low to High, both included; it is empty if Low is above High.
type Interval struct {
	Kind      Kind
	Low, High uint64
	From, To  string
}

// One returns the word of an interval that has a single word; ok is false for any other interval.
func (i Interval) One() (word string, ok bool) {
	return i.From, i.Kind == Words && i.To == successor(i.From)
}

// successor returns the word that follows directly in the order of bytes: no other word lies between.
func successor(word string) string { return word + "\x00" }

// Compile returns the compiled condition, by the declared types of fields; types may be nil. The problems are
// values that do not fit the declared type, or each other; the node must not be used if there are any. The form of
// the condition must have been checked.
func (c *Condition) Compile(types Types) (Node, []Problem) {
	k := compiler{types: types}
	node := k.compileNode(c, "")
	return node, k.problems
}

// compiler compiles one condition and collects its problems.
type compiler struct {
	types    Types
	problems []Problem
}

// compileNode returns the node of a condition with all its parts, and adds its problems to k. at is its JSON
// pointer. An empty condition is met by all passages.
func (k *compiler) compileNode(c *Condition, at string) Node {
	all := Node{Op: And}
	for _, tag := range c.TagsAll {
		all.Nodes = append(all.Nodes, Node{Op: HasTag, Tag: tag})
	}
	if len(c.TagsAny) > 0 {
		some := Node{Op: Or}
		for _, tag := range c.TagsAny {
			some.Nodes = append(some.Nodes, Node{Op: HasTag, Tag: tag})
		}
		all.Nodes = append(all.Nodes, some)
	}
	all.Nodes = append(all.Nodes, k.compileComparisons(c, at)...)
	for i := range c.And {
		all.Nodes = append(all.Nodes, k.compileNode(&c.And[i], wording.Pointer(at+"/and", i)))
	}
	if len(c.Or) > 0 {
		some := Node{Op: Or}
		for i := range c.Or {
			some.Nodes = append(some.Nodes, k.compileNode(&c.Or[i], wording.Pointer(at+"/or", i)))
		}
		all.Nodes = append(all.Nodes, some)
	}
	if c.Not != nil {
		all.Nodes = append(all.Nodes, Node{Op: Not, Nodes: []Node{k.compileNode(c.Not, at+"/not")}})
	}
	if len(all.Nodes) == 1 {
		return all.Nodes[0]
	}
	return all
}

// compileComparisons returns the nodes of the condition's comparisons with its field, all of which have to hold;
// nil if there are none. at is the JSON Pointer of the condition, for problems.
func (k *compiler) compileComparisons(c *Condition, at string) (nodes []Node) {
	if c.Exists != nil {
		has := Node{Op: HasField, Field: c.Field}
		if !*c.Exists {
			has = Node{Op: Not, Nodes: []Node{has}}
		}
		nodes = append(nodes, has)
	}
	if c.Eq != nil {
		nodes = append(nodes, k.compileEqual(c.Field, *c.Eq, at+"/eq"))
	}
	if c.In != nil {
		some := Node{Op: Or}
		for i, v := range c.In {
			some.Nodes = append(some.Nodes, k.compileEqual(c.Field, v, wording.Pointer(at+"/in", i)))
		}
		nodes = append(nodes, some)
	}
	if c.hasRange() {
		nodes = append(nodes, k.compileBounds(c, at))
	}
	return nodes
}

// compileEqual returns the node that a field equals a value, whose JSON pointer is at; with a problem, a node that
// no passage meets.
func (k *compiler) compileEqual(field string, v Value, at string) Node {
	is, ok := k.equalValues(field, v, at)
	if !ok {
		return Node{Op: Or}
	}
	return Node{Op: Within, Field: field, Test: is, At: at, Said: v.String()}
}

// compileBounds returns the node of gt, gte, lt and lte: the one interval that meets all of them, which may be
// empty; with a problem, a node that no passage meets. The condition must have one of them.
func (k *compiler) compileBounds(c *Condition, at string) Node {
	out := Node{Op: Within, Field: c.Field}
	for _, b := range c.bounds() {
		is, ok := k.equalValues(c.Field, *b.value, at+"/"+b.name)
		if !ok {
			return Node{Op: Or}
		}
		if out.Test.Kind == 0 {
			out.Test = Interval{Kind: is.Kind, High: math.MaxUint64}
			out.At = at + "/" + b.name
			out.Said = b.value.String()
		} else if out.Test.Kind != is.Kind {
			k.problems = append(k.problems, Problem{Code: "wrong_type", Pointer: at + "/" + b.name, Detail: fmt.Sprintf(
				"%v is of another kind than %s: the bounds of a range have to be of one kind (%v and %v)",
				b.value, out.Said, is.Kind, out.Test.Kind)})
			return Node{Op: Or}
		}
		out.Test = out.Test.narrowBy(b.name, is)
	}
	return out
}

// narrowBy returns the part of an interval whose values also compare as `by` says ("gt", "gte", "lt" or "lte") with
// a value; is is the interval of the values equal to that one. The result is an empty interval if no value can.
func (i Interval) narrowBy(by string, is Interval) Interval {
	empty := Interval{Kind: i.Kind, Low: 1}
	switch {
	case i.Kind == Words && by == "gt":
		i.From = is.To
	case i.Kind == Words && by == "gte":
		i.From = is.From
	case i.Kind == Words && by == "lt":
		if is.From == "" { // no word comes before the empty one
			return Interval{Kind: Words, From: "\x00", To: "\x00"}
		}
		i.To = is.From
	case i.Kind == Words:
		i.To = is.To
	case by == "gt":
		if is.High == math.MaxUint64 {
			return empty
		}
		i.Low = is.High + 1
	case by == "gte":
		i.Low = is.Low
	case by == "lt":
		if is.Low == 0 {
			return empty
		}
		i.High = is.Low - 1
	default:
		i.High = is.High
	}
	return i
}

// equalValues returns the interval of the values that equal a condition's value, by the declared type of the field;
// without one, by what the value looks like: a text that is a date is compared with dates. A day is all of its
// moments. If the value does not fit the type, it adds a problem with the pointer at and returns false.
func (k *compiler) equalValues(field string, v Value, at string) (is Interval, ok bool) {
	declared := k.types[field]
	if declared == Disputed {
		k.problems = append(k.problems, Problem{Code: "wrong_type", Pointer: at, Detail: fmt.Sprintf(
			"the field %s has different types in these collections: search each of them by itself", wording.Quote(field))})
		return is, false
	}
	text, isText := v.data.(string)
	number, isNumber := v.data.(float64)
	yes, isBool := v.data.(bool)
	from, to, isDate := ParseDate(text)
	if declared == Numeric && isText {
		number, isNumber = ParseNumber(text)
	}
	if declared == Boolean && (text == "true" || text == "false") {
		isBool = true
		yes = text == "true"
	}
	if declared == "" {
		switch {
		case isNumber:
			declared = Numeric
		case isBool:
			declared = Boolean
		case isDate:
			declared = Date
		default:
			declared = Keyword
		}
	}
	switch {
	case declared == Keyword && isText:
		return Interval{Kind: Words, From: text, To: successor(text)}, true
	case declared == Numeric && isNumber:
		key := NumberKey(number)
		return Interval{Kind: Numbers, Low: key, High: key}, true
	case declared == Date && isDate:
		return Interval{Kind: Dates, Low: DateKey(from), High: DateKey(to) - 1}, true
	case declared == Boolean && isBool:
		return Interval{Kind: Bools, Low: BoolKey(yes), High: BoolKey(yes)}, true
	}
	k.problems = append(k.problems, Problem{Code: "wrong_type", Pointer: at, Detail: fmt.Sprintf(
		"the field %s is declared as %s, which %v does not fit: %s",
		wording.Quote(field), declared, v, howToWrite(declared))})
	return is, false
}

// howToWrite returns advice for users on how to write a value of a type.
func howToWrite(t Type) string {
	switch t {
	case Numeric:
		return "write a number, such as 12.5"
	case Date:
		return "write a day, such as 2024-05-01, or a moment of RFC 3339, such as 2024-05-01T08:00:00Z"
	case Boolean:
		return "write true or false"
	}
	return "write a text, between quotes"
}
