package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// tokenDims has the least, odd and even numbers of groups of four, and the most.
var tokenDims = []int{4, 8, 12, 60, 64, 128, 252, 256}

// randomTokens makes n unit vectors.
func randomTokens(rng *rand.Rand, n, dim int) []float32 {
	out := make([]float32, 0, n*dim)
	for range n {
		token := make([]float64, dim)
		square := 0.0
		for i := range token {
			token[i] = rng.NormFloat64()
			square += token[i] * token[i]
		}
		for _, x := range token {
			out = append(out, float32(x/math.Sqrt(square)))
		}
	}
	return out
}

// asked returns a question of given codes, as Set would leave it.
func asked(codes []int8, dim int) *Question {
	n := len(codes) / dim
	rows := (n + questionTokens - 1) / questionTokens * questionTokens
	q := &Question{
		dim:    dim,
		codes:  make([]int8, rows*dim),
		biases: make([]int32, rows),
		scales: make([]float32, n),
		maxima: make([]int32, rows),
	}
	copy(q.codes, codes)
	for i := range n {
		q.scales[i] = 1
		for _, c := range codes[i*dim : (i+1)*dim] {
			q.biases[i] += zeroToken * int32(c)
		}
	}
	return q
}

// naiveMaxima returns the definition: over all pairs of tokens, every product by
// itself, from the places that the layout's description gives.
func naiveMaxima(codes []int8, blocks []byte, dim int) []int64 {
	var out []int64
	for code := range slices.Chunk(codes, dim) {
		best := int64(math.MinInt64)
		for block := range slices.Chunk(blocks, 16*dim) {
			for token := range 16 {
				sum := int64(0)
				for group := range dim / 4 {
					for k := range 4 {
						sum += int64(code[4*group+k]) * (int64(block[(group*16+token)*4+k]) - 64)
					}
				}
				best = max(best, sum)
			}
		}
		out = append(out, best)
	}
	return out
}

// TestMaxDots holds every set against the definition: any number of tokens on
// either side, with codes that are random, all alike, or the extremes at which
// sums of byte products are nearest to saturating.
func TestMaxDots(t *testing.T) {
	const seed = 61
	rng := rand.New(rand.NewPCG(seed, 0))
	for round := range 400 {
		dim := tokenDims[rng.IntN(len(tokenDims))]
		n, count := 1+rng.IntN(9), 1+rng.IntN(5)
		codes, blocks := make([]int8, n*dim), make([]byte, count*16*dim)
		kind := round % 5
		like := byte(1 + rng.IntN(127))
		for i := range codes {
			codes[i] = int8(rng.IntN(255) - 127)
			if kind > 1 {
				codes[i] = []int8{127, -127, 127, -127, 0}[(kind+i/dim)%5]
			}
		}
		for i := range blocks {
			blocks[i] = byte(1 + rng.IntN(127))
			switch kind {
			case 1:
				blocks[i] = like
			case 2, 3:
				blocks[i] = []byte{1, 127}[kind-2]
			case 4:
				blocks[i] = []byte{1, 127}[rng.IntN(2)]
			}
		}
		want := naiveMaxima(codes, blocks, dim)
		for _, set := range All() {
			q := asked(codes, dim)
			sum := float32(0)
			score := set.MaxSim(q, blocks)
			for i, w := range want {
				if got := int64(q.maxima[i] - q.biases[i]); got != w {
					t.Fatalf(
						"seed %d, round %d, %s: dim %d, token %d of %d, %d blocks: %d, want %d",
						seed,
						round,
						set.Name(),
						dim,
						i,
						n,
						count,
						got,
						w,
					)
				}
				sum += float32(w)
			}
			if score != sum {
				t.Fatalf("seed %d, round %d, %s: the score is %v, want %v", seed, round, set.Name(), score, sum)
			}
		}
	}
}

// TestMaxSimNearFloats: codes give what the float vectors give, as nearly as
// seven bits do, for one token or many and for tokens that fill no block.
func TestMaxSimNearFloats(t *testing.T) {
	rng := rand.New(rand.NewPCG(62, 0))
	for _, dim := range []int{32, 64, 128} {
		for _, n := range []int{1, 2, 15, 16, 17, 40} {
			for _, asks := range []int{1, 4, 7} {
				question, passage := randomTokens(rng, asks, dim), randomTokens(rng, n, dim)
				for i := range question {
					question[i] *= float32(i/dim + 1) // lengths of 1, 2, ...
				}
				want, weight := 0.0, 0.0
				for i := range asks {
					best := math.Inf(-1)
					for j := range n {
						sum := 0.0
						for d := range dim {
							sum += float64(question[i*dim+d]) * float64(passage[j*dim+d])
						}
						best = max(best, sum)
					}
					want, weight = want+best, weight+float64(i+1)
				}
				blocks := make([]byte, TokenBlocks(n)*BlockTokens*dim)
				EncodeTokens(passage, dim, blocks)
				var q Question
				if !q.Set(question, dim) {
					t.Fatal("a question was refused")
				}
				// No code is off by more than 4/63 of half a unit vector's spread.
				for _, set := range All() {
					if got := float64(set.MaxSim(&q, blocks)); math.Abs(got-want) > 0.04*weight {
						t.Errorf("%s, dim %d, %d by %d tokens: %v, the floats give %v", set.Name(), dim, asks, n, got, want)
					}
				}
			}
		}
	}
}

// TestTokensComeBack: what codes stand for has the same codes, and the last
// token fills the block.
func TestTokensComeBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 0))
	for _, dim := range tokenDims {
		scale := TokenScale(dim)
		for code := byte(1); code < 128; code++ {
			if got := TokenCode(TokenValue(code, scale), scale); got != code {
				t.Fatalf("dim %d: code %d came back as %d", dim, code, got)
			}
		}
		if TokenCode(10, scale) != 127 || TokenCode(-10, scale) != 1 || TokenCode(0, scale) != 64 {
			t.Errorf("dim %d: codes are not cut off at 1 and 127", dim)
		}
		for _, n := range []int{1, 16, 19} {
			tokens := randomTokens(rng, n, dim)
			blocks := make([]byte, TokenBlocks(n)*BlockTokens*dim)
			EncodeTokens(tokens, dim, blocks)
			if err := CheckTokens(blocks); err != nil {
				t.Error(err)
			}
			back := make([]float32, len(blocks))
			DecodeTokens(blocks, dim, back)
			for i, x := range back {
				want := tokens[min(i/dim, n-1)*dim+i%dim]
				if cut := 63 / scale; want > cut || want < -cut {
					want = float32(math.Copysign(float64(cut), float64(want)))
				}
				if diff := math.Abs(float64(x - want)); diff > 0.5001/float64(scale) {
					t.Fatalf("dim %d, %d tokens: element %d came back as %v, not %v", dim, n, i, x, want)
				}
			}
			again := make([]byte, len(blocks))
			EncodeTokens(back, dim, again)
			if !slices.Equal(again, blocks) {
				t.Fatalf("dim %d, %d tokens: other codes the second time", dim, n)
			}
		}
	}
	for _, b := range []byte{0, 128, 255} {
		if CheckTokens([]byte{64, b}) == nil {
			t.Errorf("byte %d passes for a code", b)
		}
	}
	for _, dim := range []int{-4, 0, 1, 6, 260} {
		if CheckTokenDimension(dim) == nil {
			t.Errorf("dimension %d was accepted", dim)
		}
	}
}

// TestQuestionSet: a question may be set again, to fewer tokens and of another
// dimension; zeros and subnormal numbers score 0, and what is not finite is
// refused.
func TestQuestionSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(64, 0))
	var again Question
	for _, dim := range []int{64, 8, 256} {
		for _, n := range []int{9, 1, 6} {
			tokens := randomTokens(rng, n, dim)
			blocks := make([]byte, BlockTokens*dim)
			EncodeTokens(tokens[:dim], dim, blocks)
			var fresh Question
			if !again.Set(tokens, dim) || !fresh.Set(tokens, dim) {
				t.Fatal("a question was refused")
			}
			for _, set := range All() {
				if a, b := set.MaxSim(&again, blocks), set.MaxSim(&fresh, blocks); a != b {
					t.Fatalf("%s, dim %d, %d tokens: %v from a used question, %v from a new one", set.Name(), dim, n, a, b)
				}
			}
		}
	}
	blocks := make([]byte, BlockTokens*4)
	EncodeTokens([]float32{1, 0, 0, 0}, 4, blocks)
	for _, x := range []float32{0, math.SmallestNonzeroFloat32, 1e-39} {
		if !again.Set([]float32{x, -x, 0, x}, 4) {
			t.Fatalf("%v was refused", x)
		}
		if s := Best().MaxSim(&again, blocks); s != 0 {
			t.Errorf("%v scores %v", x, s)
		}
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, tokens := range [][]float32{nil, {1}, {1, 2, 3, 4, 5}, {nan, 1, 2, 3}, {1, 2, 3, nan},
		{1, 2, 3, 4, 0, inf, 0, 0}} {
		if again.Set(tokens, 4) {
			t.Errorf("%v was accepted", tokens)
		}
	}
}

// BenchmarkMaxSim has everything in the nearest caches: what the processor takes
// for a pair of tokens of 64 dimensions.
func BenchmarkMaxSim(b *testing.B) {
	const dim, asks, n = 64, 12, 145
	rng := rand.New(rand.NewPCG(65, 0))
	blocks := make([]byte, TokenBlocks(n)*BlockTokens*dim)
	EncodeTokens(randomTokens(rng, n, dim), dim, blocks)
	var q Question
	q.Set(randomTokens(rng, asks, dim), dim)
	for _, set := range All() {
		b.Run(set.Name(), func(b *testing.B) {
			for b.Loop() {
				set.MaxSim(&q, blocks)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(asks*n), "ns/pair")
		})
	}
}
