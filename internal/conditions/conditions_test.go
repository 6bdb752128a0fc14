package conditions

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMatches: conditions that people write, of what the guide says of them.
func TestMatches(t *testing.T) {
	passage := map[string]any{
		"price": 12.5, "year": json.Number("2024"), "colour": "red", "published": "2024-05-01", "seen": "2024-05-01T23:59:59.5+02:00",
		"draft": false, "cell": "7", "size": "07", "version": "1.10",
	}
	tags := []string{"law", "tax"}
	for text, want := range map[string]bool{
		`{}`:                                                               true,
		`{"field":"price","gte":10,"lt":20}`:                               true,
		`{"field":"price","gte":12.5}`:                                     true,
		`{"field":"price","gt":12.5}`:                                      false,
		`{"field":"price","lt":-1}`:                                        false,
		`{"field":"year","eq":2024}`:                                       true,
		`{"field":"year","in":[2023,2024.0]}`:                              true,
		`{"field":"colour","eq":"red"}`:                                    true,
		`{"field":"colour","eq":"Red"}`:                                    false,
		`{"field":"colour","gte":"r","lt":"s"}`:                            true,
		`{"field":"colour","gt":"red"}`:                                    false,
		`{"field":"colour","lte":"red"}`:                                   true,
		`{"field":"published","eq":"2024-05-01"}`:                          true,
		`{"field":"published","gt":"2024-05-01"}`:                          false,
		`{"field":"published","lt":"2024-05-01T00:00:00.000001Z"}`:         true,
		`{"field":"seen","eq":"2024-05-01"}`:                               true,
		`{"field":"seen","eq":"2024-05-01T21:59:59.5Z"}`:                   true,
		`{"field":"seen","lte":"2024-05-01"}`:                              true,
		`{"field":"seen","lt":"2024-05-01"}`:                               false,
		`{"field":"seen","gt":"2024-04-30","lt":"2024-05-02"}`:             true,
		`{"field":"draft","eq":false}`:                                     true,
		`{"field":"draft","eq":true}`:                                      false,
		`{"field":"cell","gte":7}`:                                         true,
		`{"field":"cell","eq":"7"}`:                                        true,
		`{"field":"size","eq":7}`:                                          false,
		`{"field":"size","eq":"07"}`:                                       true,
		`{"field":"version","eq":"1.1"}`:                                   false,
		`{"field":"price","eq":"12.5"}`:                                    false,
		`{"field":"price","exists":true}`:                                  true,
		`{"field":"nobody","exists":false}`:                                true,
		`{"field":"nobody","exists":true}`:                                 false,
		`{"not":{"field":"nobody","eq":1}}`:                                true,
		`{"and":[{"tags_all":["law","tax"]},{"field":"year","lt":2025}]}`:  true,
		`{"or":[{"tags_any":["war"]},{"field":"year","lt":2024}]}`:         false,
		`{"not":{"or":[{"tags_any":["war"]},{"field":"year","lt":2024}]}}`: true,
		`{"field":"price","gte":10,"not":{"field":"colour","eq":"red"}}`:   false,
	} {
		var c Condition
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		n, problems := c.Compile(nil)
		if got := n.Matches(tags, passage); got != want || problems != nil || c.Check(nil) != nil {
			t.Errorf("%s (%s): %v, want %v; %v", text, again, got, want, problems)
		}
	}
}

// TestDeclaredTypes: a declared type decides what a value is compared with, and refuses what does not fit.
func TestDeclaredTypes(t *testing.T) {
	types := map[string]Type{"zip": Keyword, "price": Numeric, "on": Date, "sold": Boolean, "torn": Disputed}
	for text, want := range map[string]string{
		`{"field":"zip","eq":"2024-05-01"}`:  "words",
		`{"field":"zip","eq":7}`:             `/eq the field "zip" is declared as keyword, which 7 does not fit: write a text, between quotes`,
		`{"field":"price","eq":"7"}`:         "numbers",
		`{"field":"price","gte":"cheap"}`:    `/gte the field "price" is declared as number, which "cheap" does not fit: write a number, such as 12.5`,
		`{"field":"on","lt":"2024-05-01"}`:   "dates",
		`{"field":"on","lt":"2024"}`:         `/lt the field "on" is declared as date, which "2024" does not fit: write a day`,
		`{"field":"sold","eq":"true"}`:       "booleans",
		`{"or":[{"field":"sold","in":[1]}]}`: `/or/0/in/0 the field "sold" is declared as bool, which 1 does not fit: write true or false`,
		`{"not":{"field":"torn","gte":1}}`:   `/not/gte the field "torn" has different types in these collections`,
		`{"field":"torn","eq":"a"}`:          `/eq the field "torn" has different types in these collections`,
		`{"field":"other","gt":1,"lt":"b"}`:  `/lt "b" is of another kind than 1`,
	} {
		var c Condition
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		n, problems := c.Compile(types)
		got := ""
		if problems == nil {
			got = n.Test.Kind.String()
		} else {
			got = problems[0].Pointer + " " + problems[0].Detail
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestTypesOfNothing: a type is of a field with a name, of no more bytes than one may have.
func TestTypesOfNothing(t *testing.T) {
	for _, field := range []string{"", strings.Repeat("x", MaxFieldBytes+1)} {
		if types, err := ParseTypes(map[string]string{field: "number"}); err == nil {
			t.Errorf("%.20q: %v", field, types)
		}
	}
}

// TestKeys: keys are ordered as the values are, and give them back.
func TestKeys(t *testing.T) {
	numbers := []float64{-1e308, -2, -1, -1e-300, 0, 1e-300, 0.5, 1, 1.5, 2, 1e308}
	for i, x := range numbers {
		if KeyNumber(NumberKey(x)) != x || i > 0 && NumberKey(numbers[i-1]) >= NumberKey(x) {
			t.Errorf("%v has key %d", x, NumberKey(x))
		}
	}
	var moments []time.Time
	for _, s := range []string{"0000-01-01", "1969-12-31", "1970-01-01", "2024-02-29", "9999-12-31"} {
		from, to, ok := ParseDate(s)
		if !ok || to.Sub(from) != 24*time.Hour || !KeyDate(DateKey(from)).Equal(from) {
			t.Errorf("%s: %v, %v, %v", s, from, to, ok)
		}
		moments = append(moments, from)
	}
	if !slices.IsSortedFunc(moments, func(a, b time.Time) int { return int(DateKey(a)>>20) - int(DateKey(b)>>20) }) {
		t.Error("dates are out of order")
	}
	for _, s := range []string{"2024-02-30", "2024-5-1", "2024-05-01 10:00", "20240501", "2024-05-01T10:00:00"} {
		if _, _, ok := ParseDate(s); ok {
			t.Errorf("%s is a date", s)
		}
	}
	for s, want := range map[string]bool{"0": true, "-0.5": true, "1e3": true, "07": false, "1.": false, ".5": false,
		"+1": false, "0x1": false, "1_000": false, "NaN": false, "-Inf": false, "": false, "-": false,
		" 1": false, "1e999": false} {
		if _, ok := ParseNumber(s); ok != want || want != json.Valid([]byte(s)) && s != "1e999" && s != " 1" {
			t.Errorf("%q is a number: %v", s, ok)
		}
	}
}

// TestBounds: conditions that are too deep, too many or too large are refused by where they are.
func TestBounds(t *testing.T) {
	deep := Condition{Field: "a", Exists: new(true)}
	for range MaxDepth {
		deep = Condition{And: []Condition{deep}}
	}
	if p := deep.Check(nil); p != nil {
		t.Errorf("%+v", p)
	}
	for name, c := range map[string]Condition{
		"deep":   {Not: &deep},
		"many":   {And: slices.Repeat([]Condition{{Field: "a", Exists: new(true)}}, MaxConditions)},
		"values": {Field: "a", In: slices.Repeat([]Value{Number(1)}, MaxValues+1)},
		"long":   {Field: "a", In: []Value{Text(strings.Repeat("x", MaxWordBytes+1))}},
		"bool":   {Field: "a", Gt: new(Bool(true))},
		"both":   {Field: "a", Gt: new(Number(1)), Gte: new(Number(1))},
	} {
		if p := c.Check(nil); len(p) != 1 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
