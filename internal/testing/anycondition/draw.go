// Package anycondition draws metadata and conditions for tests, and says by itself, from what users
// are told and without the program's own evaluation, which metadata meet which conditions.
package anycondition

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"example.org/conclave/internal/conditions"
)

// Metadata draws the metadata of a passage for the fields that Condition asks about: numbers, words, days and
// moments, booleans, values of the wrong kind, texts that look like others, and one too long to be compared. Each
// field is absent at times.
func Metadata(rng *rand.Rand) map[string]any {
	m := map[string]any{}
	may := func(p float64) bool { return rng.Float64() < p }
	if may(0.9) {
		m["price"] = drawPrice(rng)
	}
	if may(0.05) {
		m["price"] = []any{"n/a", ""}[rng.IntN(2)]
	}
	if may(0.8) {
		m["colour"] = drawWord(rng)
	}
	if may(0.7) {
		m["day"] = drawDay(rng).Format(time.DateOnly)
	}
	if may(0.6) {
		m["at"] = drawMoment(rng)
	}
	if may(0.5) {
		m["sold"] = []any{true, false, "true", "false"}[rng.IntN(4)]
	}
	if may(0.4) {
		m["cell"] = []string{"7", "07", "1.50", "1.5", "-3", "1e2", "x1", "2024-05-01"}[rng.IntN(8)] // of a table
	}
	if may(0.5) {
		m["any"] = []any{float64(rng.IntN(20)), drawWord(rng), drawDay(rng).Format(time.DateOnly), true}[rng.IntN(4)]
	}
	if may(0.5) {
		m["author.name"] = drawWord(rng)
		m["born"] = float64(1900 + rng.IntN(100))
	}
	if may(0.05) {
		m["colour"] = strings.Repeat("long ", 400)
	}
	return m
}

// drawPrice returns a number: often a small one, at times 0, a negative or an extreme one.
func drawPrice(rng *rand.Rand) float64 {
	some := []float64{
		0,
		-1,
		0.5,
		1e300,
		1e-300,
		float64(rng.IntN(30)),
		float64(rng.IntN(3000)) / 100,
		-float64(rng.IntN(9)),
	}
	return some[rng.IntN(len(some))]
}

// drawWord returns one of some words, among which are "", upper case and characters that queries treat specially.
func drawWord(rng *rand.Rand) string {
	some := []string{"red", "green", "blue", "Red", "red ", "grün", "", "a\"b", "z", "re", "*", "日本", "a\\b|c"}
	return some[rng.IntN(len(some))]
}

// drawDay returns the midnight (UTC) of one of 40 days from January 1st, 2024.
func drawDay(rng *rand.Rand) time.Time {
	return time.Date(2024, time.January, 1+rng.IntN(40), 0, 0, 0, 0, time.UTC)
}

// drawMoment returns a time on one of the days of drawDay, in RFC 3339 with milliseconds and one of five offsets from
// UTC. With a chance of one third it is a midnight in UTC.
func drawMoment(rng *rand.Rand) string {
	t := drawDay(rng).Add(time.Duration(rng.IntN(86_400_000)) * time.Millisecond)
	if rng.IntN(3) == 0 {
		t = t.Truncate(24 * time.Hour)
	}
	return t.In(time.FixedZone("", 3600*(rng.IntN(5)-2))).Format(time.RFC3339Nano)
}

// Condition returns a random condition that is valid in form, nested at most 3 levels deep. It may name a field that
// no passage has, or compare a field with a value of another kind than the field's.
func Condition(rng *rand.Rand) conditions.Condition { return drawCondition(rng, 3) }

// drawCondition returns a random condition that nests at most depth levels deep; with depth 0 it is a comparison or
// TagsAny.
func drawCondition(rng *rand.Rand, depth int) (c conditions.Condition) {
	inner := func(n int) (out []conditions.Condition) {
		for range 1 + rng.IntN(n) {
			out = append(out, drawCondition(rng, depth-1))
		}
		return out
	}
	if depth > 0 {
		switch rng.IntN(6) {
		case 0:
			return conditions.Condition{And: inner(3)}
		case 1:
			return conditions.Condition{Or: inner(3)}
		case 2:
			not := drawCondition(rng, depth-1)
			return conditions.Condition{Not: &not}
		}
	}
	if rng.IntN(8) == 0 {
		return conditions.Condition{TagsAny: []string{fmt.Sprint("t", rng.IntN(4)), "t9"}}
	}
	fields := []string{"price", "colour", "day", "at", "sold", "cell", "any", "author.name", "born", "nobody's"}
	c.Field = fields[rng.IntN(len(fields))]
	drawOperand := func() *conditions.Value {
		v := drawValue(rng, c.Field)
		return &v
	}
	switch rng.IntN(6) {
	case 0:
		yes := rng.IntN(2) == 0
		c.Exists = &yes
	case 1:
		for range 1 + rng.IntN(3) {
			c.In = append(c.In, *drawOperand())
		}
	case 2:
		c.Eq = drawOperand()
	default:
		drawBounds(rng, &c, drawOperand)
	}
	return c
}

// drawBounds sets one or two bounds of c to values that drawOperand returns; two bounds are of one kind. If the first
// value is a boolean, which has no order, it sets c.Eq instead.
func drawBounds(rng *rand.Rand, c *conditions.Condition, drawOperand func() *conditions.Value) {
	low := drawOperand()
	high := drawOperand()
	for range 20 {
		if kindOf(*low) == kindOf(*high) {
			break
		}
		high = drawOperand()
	}
	if kindOf(*low) == "bool" {
		c.Eq = low
		return
	}
	both := kindOf(*low) == kindOf(*high)
	switch rng.IntN(4) {
	case 0:
		c.Gte = low
	case 1:
		c.Gt = low
	case 2:
		c.Lte = low
		return
	case 3:
		c.Lt = low
		return
	}
	if both && rng.IntN(3) > 0 {
		if rng.IntN(2) == 0 {
			c.Lt = high
		} else {
			c.Lte = high
		}
	}
}

// drawValue returns a random value to compare a field with, of a kind that the field has in Metadata; for fields that
// it does not know, of any kind.
func drawValue(rng *rand.Rand, field string) conditions.Value {
	switch field {
	case "price":
		return conditions.Number(drawPrice(rng))
	case "born":
		return conditions.Number(float64(1900 + rng.IntN(100)))
	case "day", "at":
		if rng.IntN(2) == 0 {
			return conditions.Text(drawMoment(rng))
		}
		return conditions.Text(drawDay(rng).Format(time.DateOnly))
	case "sold":
		return conditions.Bool(rng.IntN(2) == 0)
	case "colour", "author.name":
		return conditions.Text(drawWord(rng))
	case "cell":
		return []conditions.Value{conditions.Number(7), conditions.Number(1.5), conditions.Text("1.50"),
			conditions.Text("7"), conditions.Number(100), conditions.Text("2024-05-01"), conditions.Text("x")}[rng.IntN(7)]
	}
	return []conditions.Value{
		conditions.Number(float64(rng.IntN(20))), conditions.Text(drawWord(rng)), conditions.Bool(true),
		conditions.Text(drawDay(rng).Format(time.DateOnly)),
	}[rng.IntN(4)]
}
