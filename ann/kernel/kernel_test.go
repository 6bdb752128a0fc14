package kernel

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// dims has every remainder that the kernels treat differently: below a
// register, whole registers, one element more or less.
var dims = []int{1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 48, 63, 64, 65, 100, 127, 384, 385, 768}

func randomRows(rng *rand.Rand, n, dim int) []float32 {
	out := make([]float32, n*dim)
	for i := range out {
		out[i] = float32(rng.NormFloat64())
	}
	return out
}

// reference returns the inner product in double precision and a bound of what any
// order of float32 additions may be off.
func reference(a, b []float32) (sum, bound float64) {
	for i := range a {
		p := float64(a[i]) * float64(b[i])
		sum += p
		bound += math.Abs(p)
	}
	return sum, bound * float64(len(a)+1) * 0x1p-24
}

func TestFloatsAgainstDoublePrecision(t *testing.T) {
	for _, set := range All() {
		rng := rand.New(rand.NewPCG(1, 1))
		for _, dim := range dims {
			for _, n := range []int{0, 1, 3, 4, 5, 11} {
				queries := randomRows(rng, Block, dim)
				rows := AppendHalves(nil, randomRows(rng, max(n, 1), dim))
				query := queries[:dim]
				out, gathered, block := make([]float32, n), make([]float32, n), make([]float32, Block*n)
				ids := make([]uint32, n)
				for i := range ids {
					ids[i] = uint32(rng.IntN(n))
				}
				set.DotRows(query, rows, out)
				set.DotGather(query, rows, ids, gathered)
				set.DotBlock(queries, rows, dim, block)
				for i := range n {
					r := AppendFloats(nil, rows[i*dim:(i+1)*dim])
					want, bound := reference(query, r)
					if math.Abs(float64(out[i])-want) > bound {
						t.Fatalf("%s dim %d row %d of %d: %v, want %v within %v", set.Name(), dim, i, n, out[i], want, bound)
					}
					if alone := set.Dot(query, r); alone != out[i] || block[Block*i] != out[i] {
						t.Fatalf(
							"%s dim %d row %d of %d: %v alone, %v among rows, %v in a block",
							set.Name(),
							dim,
							i,
							n,
							alone,
							out[i],
							block[Block*i],
						)
					}
					if gathered[i] != out[ids[i]] {
						t.Fatalf("%s dim %d: gathered row %d is %v, want %v", set.Name(), dim, ids[i], gathered[i], out[ids[i]])
					}
					for j := range Block {
						if want := set.Dot(queries[j*dim:(j+1)*dim], r); block[Block*i+j] != want {
							t.Fatalf("%s dim %d row %d query %d: %v in a block, %v alone", set.Name(), dim, i, j, block[Block*i+j], want)
						}
					}
				}
			}
		}
	}
}

// TestFloatsStayInside gives the kernels rows that end where the slice ends
// and are followed by NaN: a read too far that is used would show.
func TestFloatsStayInside(t *testing.T) {
	for _, set := range All() {
		for _, dim := range dims {
			room := make([]float32, 2*dim+64)
			for i := range room {
				room[i] = float32(math.NaN())
				if i < 2*dim {
					room[i] = 1
				}
			}
			query := room[dim : 2*dim]
			rows := AppendHalves(nil, room)
			out := make([]float32, 2)
			if one := set.Dot(room[:dim], query); one != float32(dim) {
				t.Errorf("%s dim %d: %v, want %d", set.Name(), dim, one, dim)
			}
			set.DotRows(query, rows[:2*dim], out)
			if out[0] != float32(dim) || out[1] != float32(dim) {
				t.Errorf("%s dim %d: %v, want %d", set.Name(), dim, out, dim)
			}
		}
	}
}

// TestCodesAreExact: the sums of all sets are those of the elements one by one, for random codes and for the extremes,
// where byte products could saturate.
func TestCodesAreExact(t *testing.T) {
	for _, set := range All() {
		rng := rand.New(rand.NewPCG(2, 2))
		for _, dim := range dims {
			stride := Stride(dim)
			n := 11
			codes := make([]byte, n*stride)
			for i := range codes {
				codes[i] = byte(rng.IntN(256))
			}
			for i := range stride {
				codes[i], codes[stride+i] = 0xff, 0
			}
			for _, extreme := range []bool{false, true} {
				var q Query
				q.resize(dim)
				for i := range dim {
					q.codes[i] = int8(rng.IntN(255) - 127)
					if extreme {
						q.codes[i] = []int8{127, -127}[i/200%2]
					}
				}
				ids := make([]uint32, n)
				for i := range ids {
					ids[i] = uint32(rng.IntN(n))
				}
				copy(ids, []uint32{0, 1})
				gathered := make([]int32, n)
				set.CodeGather(&q, codes, ids, gathered)
				for i, id := range ids {
					want := int64(0)
					for j := range dim {
						want += int64(q.codes[j]) * int64(codeAt(codes[int(id)*stride:], j))
					}
					if int64(gathered[i]) != want {
						t.Fatalf("%s dim %d row %d: %d, want %d", set.Name(), dim, id, gathered[i], want)
					}
				}
			}
		}
	}
}

// codeAt returns the code of element i in a row.
func codeAt(row []byte, i int) byte {
	b := row[i/128*64+i%64]
	if i%128 < 64 {
		return b & 15
	}
	return b >> 4
}

// TestCodesKeepInnerProducts compares scores with inner products in double precision: the mean of their errors is near
// 0, and their spread is what 15 levels leave, for vectors of any length, also where one element has most of it.
func TestCodesKeepInnerProducts(t *testing.T) {
	const dim, n = 384, 400
	for name, shape := range map[string]func(rng *rand.Rand, v []float32){
		"normal":            func(*rand.Rand, []float32) {},
		"one large element": func(rng *rand.Rand, v []float32) { v[7] = 60 + float32(rng.NormFloat64()) },
		"few elements":      func(_ *rand.Rand, v []float32) { clear(v[20:]) },
	} {
		for _, length := range []float64{1e-20, 1, 1e20} {
			rng := rand.New(rand.NewPCG(3, 3))
			rows, query := randomRows(rng, n, dim), randomRows(rng, 1, dim)
			codes, scales, ids := make([]byte, n*Stride(dim)), make([]float32, n), make([]uint32, n)
			var coder Coder
			shape(rng, query)
			for i := range n {
				row := rows[i*dim:][:dim]
				shape(rng, row)
				for j := range row {
					row[j] *= float32(length)
				}
				ids[i] = uint32(i)
				scales[i] = coder.Encode(row, codes[i*Stride(dim):][:Stride(dim)])
			}
			var q Query
			q.Set(query)
			sums := make([]int32, n)
			goSet.CodeGather(&q, codes, ids, sums)
			mean, square := 0.0, 0.0
			for i, sum := range sums {
				row := rows[i*dim:][:dim]
				want, _ := reference(query, row)
				lengths, _ := reference(row, row)
				ofQuery, _ := reference(query, query)
				e := (float64(q.Score(sum, scales[i])) - want) / math.Sqrt(lengths*ofQuery)
				mean += e / n
				square += e * e / n
			}
			if math.Abs(mean) > 0.001 || math.Sqrt(square) > 0.012 {
				t.Errorf("%s, length %g: errors of cosines have the mean %.4f and the spread %.4f", name, length, mean, math.Sqrt(square))
			}
		}
	}
}

// TestRowsAsQueries: a row of codes as the query has the elements that its codes stand for.
func TestRowsAsQueries(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, set := range All() {
		for _, dim := range dims {
			codes := make([]byte, Stride(dim))
			var coder Coder
			scale := coder.Encode(randomRows(rng, 1, dim), codes)
			var q Query
			set.SetRow(&q, codes, scale, dim)
			bias := int32(0)
			for i, c := range q.codes {
				want := int8(0)
				if i < dim {
					want = 2*int8(codeAt(codes, i)) - 15
				}
				if c != want {
					t.Fatalf("%s dim %d: element %d is %d, want %d", set.Name(), dim, i, c, want)
				}
				bias += 15 * int32(c)
			}
			if q.scale != scale || q.bias != bias {
				t.Errorf("%s dim %d: scale %v and bias %d, want %v and %d", set.Name(), dim, q.scale, q.bias, scale, bias)
			}
		}
	}
}

// TestNothingToTellApart: vectors of zeros, and of numbers that are as good as 0, have the score 0.
func TestNothingToTellApart(t *testing.T) {
	for _, x := range []float32{0, math.SmallestNonzeroFloat32} {
		codes := make([]byte, Stride(3))
		var coder Coder
		if scale := coder.Encode([]float32{x, -x, 0}, codes); scale != 0 {
			t.Errorf("scale of %v is %v", x, scale)
		}
		var q Query
		q.Set([]float32{x, -x, 0})
		if score := q.Score(0, 1); score != 0 || slices.ContainsFunc(q.codes, func(c int8) bool { return c != 0 }) {
			t.Errorf("the query of %v has the codes %v and a score of %v", x, q.codes, score)
		}
	}
}

// TestLongestRowDoesNotOverflow sums the largest product over the largest
// dimension that vectors may have, in arbitrary precision.
func TestLongestRowDoesNotOverflow(t *testing.T) {
	var q Query
	q.resize(MaxDimension)
	codes := make([]byte, Stride(MaxDimension))
	for i := range q.codes {
		q.codes[i] = 127
	}
	for i := range codes {
		codes[i] = 0xff
	}
	want := new(big.Int).Mul(big.NewInt(127*15), big.NewInt(MaxDimension))
	if !new(big.Int).Mul(want, big.NewInt(2)).IsInt64() || 2*want.Int64() > math.MaxInt32 {
		t.Errorf("twice %d is no number of 32 bits", want)
	}
	for _, set := range All() {
		out := make([]int32, 1)
		set.CodeGather(&q, codes, []uint32{0}, out)
		if want.Cmp(big.NewInt(int64(out[0]))) != 0 {
			t.Errorf("%s: %d, want %d", set.Name(), out[0], want)
		}
	}
}

func BenchmarkDot(b *testing.B) {
	const dim, n = 384, 4096
	rng := rand.New(rand.NewPCG(4, 4))
	rows, query := randomRows(rng, n, dim), randomRows(rng, 1, dim)
	halves := AppendHalves(nil, rows)
	codes := make([]byte, n*Stride(dim))
	var coder Coder
	for i := range n {
		coder.Encode(rows[i*dim:(i+1)*dim], codes[i*Stride(dim):][:Stride(dim)])
	}
	var q Query
	q.Set(query)
	ids := make([]uint32, n)
	for i := range ids {
		ids[i] = uint32(rng.IntN(n))
	}
	for _, set := range All() {
		out, sums := make([]float32, n), make([]int32, n)
		b.Run(fmt.Sprintf("halves/%s", set.Name()), func(b *testing.B) {
			b.SetBytes(2 * dim * n)
			for b.Loop() {
				set.DotRows(query, halves, out)
			}
		})
		b.Run(fmt.Sprintf("codes/%s", set.Name()), func(b *testing.B) {
			b.SetBytes(dim / 2 * n)
			for b.Loop() {
				set.CodeGather(&q, codes, ids, sums)
			}
		})
	}
}
