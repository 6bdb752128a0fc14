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
				queries, rows := randomRows(rng, Block, dim), randomRows(rng, max(n, 1), dim)
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
					r := rows[i*dim : (i+1)*dim]
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
			room := make([]float32, 3*dim+64)
			for i := range room {
				room[i] = float32(math.NaN())
			}
			for i := range 3 * dim {
				room[i] = 1
			}
			out := make([]float32, 2)
			set.DotRows(room[2*dim:3*dim], room[:2*dim], out)
			if out[0] != float32(dim) || out[1] != float32(dim) {
				t.Errorf("%s dim %d: %v, want %d", set.Name(), dim, out, dim)
			}
		}
	}
}

func TestCodesAreExact(t *testing.T) {
	for _, set := range All() {
		rng := rand.New(rand.NewPCG(2, 2))
		for _, dim := range dims {
			stride := Stride(dim)
			n := 11
			codes := make([]byte, n*stride)
			for i := range codes {
				codes[i] = byte(1 + rng.IntN(255))
			}
			for i := range stride { // the two extremes, where byte products could saturate
				codes[i], codes[stride+i] = 255, 1
			}
			for _, extreme := range []bool{false, true} {
				stored := make([]byte, stride)
				for i := range stored {
					stored[i] = byte(1 + rng.IntN(255))
					if extreme {
						stored[i] = []byte{1, 255}[i/2%2]
					}
				}
				ids := make([]uint32, n)
				for i := range ids {
					ids[i] = uint32(rng.IntN(n))
				}
				copy(ids, []uint32{0, 1})
				gathered := make([]int32, n)
				set.CodeGather(stored, codes, ids, gathered)
				for i, id := range ids {
					want := int64(0)
					for j := range stride {
						want += (int64(stored[j]) - 128) * (int64(codes[int(id)*stride+j]) - 128)
					}
					if int64(gathered[i]) != want {
						t.Fatalf("%s dim %d row %d: %d, want %d", set.Name(), dim, id, gathered[i], want)
					}
				}
			}
		}
	}
}

// TestQuantiseWithinHalfAScale checks the bound that the comment promises, on
// vectors of very different length.
func TestQuantiseWithinHalfAScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, length := range []float64{1e-30, 1e-3, 1, 1e4, 1e30} {
		vector := randomRows(rng, 1, 100)
		for i := range vector {
			vector[i] *= float32(length)
		}
		codes := make([]byte, Stride(len(vector)))
		scale := Quantise(vector, codes)
		for i, x := range vector {
			back := (float64(codes[i]) - 128) * float64(scale)
			if math.Abs(back-float64(x)) > 0.5001*float64(scale) {
				t.Fatalf("component %v came back as %v with scale %v", x, back, scale)
			}
			if codes[i] == 0 {
				t.Fatalf("component %v has the code 0, which byte products must not meet", x)
			}
		}
		for _, c := range codes[len(vector):] {
			if c != 128 {
				t.Fatalf("padding is %d", c)
			}
		}
	}
}

func TestQuantiseZeroAndSubnormal(t *testing.T) {
	for _, x := range []float32{0, math.SmallestNonzeroFloat32} {
		codes := make([]byte, Stride(3))
		if scale := Quantise([]float32{x, -x, 0}, codes); scale != 0 {
			t.Errorf("scale of %v is %v", x, scale)
		}
		if slices.ContainsFunc(codes, func(c byte) bool { return c != 128 }) {
			t.Errorf("codes of %v are %v", x, codes)
		}
	}
}

// TestLongestRowDoesNotOverflow sums the largest product over the largest
// dimension that vectors may have, in arbitrary precision.
func TestLongestRowDoesNotOverflow(t *testing.T) {
	const dim = 1 << 14
	codes := make([]byte, dim)
	for i := range codes {
		codes[i] = 255
	}
	want := new(big.Int).Mul(big.NewInt(127*127), big.NewInt(dim))
	for _, set := range All() {
		out := make([]int32, 1)
		set.CodeGather(codes, codes, []uint32{0}, out)
		if want.Cmp(big.NewInt(int64(out[0]))) != 0 {
			t.Errorf("%s: %d, want %d", set.Name(), out[0], want)
		}
	}
}

func BenchmarkDot(b *testing.B) {
	const dim, n = 384, 4096
	rng := rand.New(rand.NewPCG(4, 4))
	rows, query := randomRows(rng, n, dim), randomRows(rng, 1, dim)
	codes := make([]byte, n*Stride(dim))
	for i := range n {
		Quantise(rows[i*dim:(i+1)*dim], codes[i*Stride(dim):])
	}
	q := make([]byte, Stride(dim))
	Quantise(query, q)
	ids := make([]uint32, n)
	for i := range ids {
		ids[i] = uint32(rng.IntN(n))
	}
	for _, set := range All() {
		out, sums := make([]float32, n), make([]int32, n)
		b.Run(fmt.Sprintf("floats/%s", set.Name()), func(b *testing.B) {
			b.SetBytes(4 * dim * n)
			for b.Loop() {
				set.DotRows(query, rows, out)
			}
		})
		b.Run(fmt.Sprintf("codes/%s", set.Name()), func(b *testing.B) {
			b.SetBytes(dim * n)
			for b.Loop() {
				set.CodeGather(q, codes, ids, sums)
			}
		})
	}
}
