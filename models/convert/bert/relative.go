package bert

import (
	"math"

	"example.org/conclave/models/convert/onnx"
)

// Relative positions (Song et al. 2020, "MPNet"; Raffel et al. 2020, "T5", section 2.1): each head
// adds to the score of a query and a key a number for the bucket of their distance. Half of the
// buckets are for keys behind the query. Of each half, half are for one distance each, and the
// others for distances that grow, up to one for all from farthest on.
const farthest = 128

// RelativeBias is the name of the buckets' numbers, [buckets, heads].
const RelativeBias = "encoder.relative_attention_bias.weight"

// relativeBias is the name of the graph's bias, float32 [1, heads, sequence, sequence].
const relativeBias = "relative.bias"

// biasBucket returns the bucket, from 0 to Relative-1, of the distance in tokens of a key from its query, positive
// for a key behind it.
func (c *Config) biasBucket(distance int) int {
	half := c.Relative / 2
	first := 0
	if distance > 0 {
		first = half
	}
	n := max(distance, -distance)
	exact := half / 2
	if n < exact {
		return first + n
	}
	// In float32, as the reference computes it.
	grown := float32(math.Log(float64(float32(n)/float32(exact)))) / float32(math.Log(float64(farthest)/float64(exact)))
	return first + min(exact+int(grown*float32(half-exact)), half-1)
}

// readRelative reads the numbers of the buckets and sets b.relative: for each distance from -(Positions-1) to
// Positions-1, the number of each head, [2·Positions-1, heads]. It stays nil without relative positions, and while
// tensors are only recorded.
func (b *builder) readRelative() {
	c := &b.c
	if c.Relative == 0 {
		return
	}
	buckets := b.Read(RelativeBias, c.Relative, c.Heads)
	if b.Naming() {
		return
	}
	for distance := 1 - c.Positions; distance < c.Positions; distance++ {
		at := c.biasBucket(distance) * c.Heads
		b.relative = append(b.relative, buckets[at:at+c.Heads]...)
	}
}

// relativeSpread returns the difference of the largest and the least of the numbers in b.relative; 0 without
// relative positions.
func (b *builder) relativeSpread() float32 {
	if len(b.relative) == 0 {
		return 0
	}
	low, high := b.relative[0], b.relative[0]
	for _, v := range b.relative {
		low, high = min(low, v), max(high, v)
	}
	return high - low
}

// relativeInput adds the value relativeBias, which all layers add to their scores; nothing without relative
// positions.
func (b *builder) relativeInput() {
	if len(b.relative) == 0 {
		return
	}
	c := &b.c
	table := b.floats("relative.table", b.relative, len(b.relative)/c.Heads, c.Heads)
	shape := b.op("Shape", []string{inputIDs})
	second := b.op("Slice", []string{shape, b.ints("relative.one", 1), b.ints("relative.two", 2)})
	length := b.op("Squeeze", []string{second})
	places := b.op("Range", []string{b.scalar("relative.from", 0), length, b.scalar("relative.step", 1)})
	keys := b.op("Unsqueeze", []string{places, b.ints("relative.row", 0)})
	queries := b.op("Unsqueeze", []string{places, b.ints("relative.column", 1)})
	distance := b.op("Add", []string{
		b.op("Sub", []string{keys, queries}), b.scalar("relative.zero", int64(c.Positions-1)),
	})
	found := b.op("Gather", []string{table, distance})
	byHead := b.op("Transpose", []string{found}, onnx.IntList("perm", 2, 0, 1))
	b.graph.Add("Unsqueeze", relativeBias, []string{byHead, b.ints("relative.batch", 0)})
}

// relativeTo returns the name of the bias for the queries of all tokens or, with firstOnly, of the first ones, for
// which it adds nodes; "" without relative positions.
func (b *builder) relativeTo(firstOnly bool) string {
	if len(b.relative) == 0 {
		return ""
	}
	if !firstOnly {
		return relativeBias
	}
	zero, one, axis := b.ints("relative.first", 0), b.ints("relative.second", 1), b.ints("relative.axis", 2)
	return b.op("Slice", []string{relativeBias, zero, one, axis})
}
