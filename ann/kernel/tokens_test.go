package kernel

import (
	"math"
	"math/bits"
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

// naiveLevel returns the level of a token in a dimension of a block, from the place that the layout's description
// gives.
func naiveLevel(block []byte, token, d int) int64 {
	b := block[d/4*16+token%4*4+d%4]
	return []int64{-63, -19, 19, 63}[b>>(token/4*2)&3]
}

// naiveMaxima returns the definition: over all pairs of tokens, every product by itself.
func naiveMaxima(codes []int8, blocks []byte, dim int) []int64 {
	var out []int64
	for code := range slices.Chunk(codes, dim) {
		best := int64(math.MinInt64)
		for block := range slices.Chunk(blocks, 4*dim) {
			for token := range 16 {
				sum := int64(0)
				for d := range dim {
					sum += int64(code[d]) * naiveLevel(block, token, d)
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
		codes, blocks := make([]int8, n*dim), make([]byte, count*4*dim)
		kind := round % 5
		like := byte(rng.IntN(256))
		for i := range codes {
			codes[i] = int8(rng.IntN(255) - 127)
			if kind > 1 {
				codes[i] = []int8{127, -127, 127, -127, 0}[(kind+i/dim)%5]
			}
		}
		for i := range blocks {
			blocks[i] = byte(rng.IntN(256))
			switch kind {
			case 1:
				blocks[i] = like
			case 2, 3:
				blocks[i] = []byte{0x00, 0xff}[kind-2]
			case 4: // the lowest and the highest level
				blocks[i] = blocks[i] & 0x55 * 3
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
// two bits do, for one token or many and for tokens that fill no block.
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
				blocks := make([]byte, TokenBytes(n, dim))
				EncodeTokens(passage, dim, blocks)
				var q Question
				if !q.Set(question, dim) {
					t.Fatal("a question was refused")
				}
				// The four levels have an eighth of a number's variance as their error.
				most := 4 * math.Sqrt(0.1333/float64(dim)) * weight
				for _, set := range All() {
					if got := float64(set.MaxSim(&q, blocks)); math.Abs(got-want) > most {
						t.Errorf("%s, dim %d, %d by %d tokens: %v, the floats give %v", set.Name(), dim, asks, n, got, want)
					}
				}
			}
		}
	}
}

// TestInnerProductsUnbiased: over many pairs, the products with codes are on average those with the vectors.
func TestInnerProductsUnbiased(t *testing.T) {
	rng := rand.New(rand.NewPCG(66, 0))
	for _, dim := range []int{32, 64, 96, 128} {
		const n = 4000
		var with, without float64
		for range n {
			pair := randomTokens(rng, 2, dim)
			for d := range dim { // near each other, as what matches is
				pair[d] += pair[dim+d]
			}
			block := make([]byte, TokenBytes(1, dim))
			EncodeTokens(pair[dim:], dim, block)
			var q Question
			q.Set(pair[:dim], dim)
			with += float64(Best().MaxSim(&q, block))
			for d := range dim {
				without += float64(pair[d]) * float64(pair[dim+d])
			}
		}
		if ratio := with / without; math.Abs(ratio-1) > 0.02 {
			t.Errorf("dim %d: the codes give %.4f of the products", dim, ratio)
		}
	}
}

// TestTokensComeBack: what codes stand for has the same codes and points where the token does, and the last
// token fills the block.
func TestTokensComeBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 0))
	for _, dim := range tokenDims {
		for _, n := range []int{1, 16, 19} {
			tokens := randomTokens(rng, n, dim)
			blocks := make([]byte, TokenBytes(n, dim))
			EncodeTokens(tokens, dim, blocks)
			back := make([]float32, 4*len(blocks))
			DecodeTokens(blocks, dim, back)
			mean := 0.0
			for i := range len(back) / dim {
				got, token := back[i*dim:(i+1)*dim], tokens[min(i, n-1)*dim:][:dim]
				product, square := 0.0, 0.0
				for d, x := range got {
					product += float64(x) * float64(token[d])
					square += float64(x) * float64(x)
				}
				mean += product / math.Sqrt(square) / float64(len(back)/dim)
				if i >= n && !slices.Equal(got, back[(n-1)*dim:n*dim]) {
					t.Fatalf("dim %d, %d tokens: place %d has no copy of the last", dim, n, i)
				}
			}
			if dim >= 32 && mean < 0.92 {
				t.Errorf("dim %d: the cosine of a token and what came back is %.3f", dim, mean)
			}
			again := make([]byte, len(blocks))
			EncodeTokens(back, dim, again)
			if !slices.Equal(again, blocks) {
				t.Fatalf("dim %d, %d tokens: other codes the second time", dim, n)
			}
		}
	}
	// Any bytes are codes, and those of what they stand for.
	for _, dim := range tokenDims {
		blocks := make([]byte, 3*TokenBlockBytes(dim))
		for i := range blocks {
			blocks[i] = byte(rng.IntN(256))
		}
		back, again := make([]float32, 4*len(blocks)), make([]byte, len(blocks))
		DecodeTokens(blocks, dim, back)
		EncodeTokens(back, dim, again)
		if !slices.Equal(again, blocks) {
			t.Errorf("dim %d: random codes come back as others", dim)
		}
	}
	for _, dim := range []int{-4, 0, 1, 6, 260} {
		if CheckTokenDimension(dim) == nil {
			t.Errorf("dimension %d was accepted", dim)
		}
	}
}

// TestZeroTokens: tokens of zeros match nothing: the codes are those of the tokens beside them.
func TestZeroTokens(t *testing.T) {
	const dim = 64
	rng := rand.New(rand.NewPCG(67, 0))
	two := randomTokens(rng, 2, dim)
	first, second := two[:dim], two[dim:]
	zeros := make([]float32, dim)
	encoded := func(tokens ...[]float32) []byte {
		blocks := make([]byte, TokenBytes(len(tokens), dim))
		EncodeTokens(slices.Concat(tokens...), dim, blocks)
		return blocks
	}
	got := encoded(zeros, first, zeros, zeros, second, zeros)
	if !slices.Equal(got, encoded(first, first, first, first, second, second)) {
		t.Error("tokens of zeros have codes of their own")
	}
	short := make([]float32, dim*BlockTokens)
	DecodeTokens(encoded(zeros, zeros), dim, short)
	square := float32(0)
	for _, x := range short[:dim] {
		square += x * x
	}
	if square > 0.27 { // (19/36.845)² and rounding
		t.Errorf("nothing but zeros comes back with the square %v of its length", square)
	}
}

// TestTurn: turning is the product with signed matrices of Sylvester, keeps inner products, and can be undone.
func TestTurn(t *testing.T) {
	rng := rand.New(rand.NewPCG(68, 0))
	for _, dim := range tokenDims {
		vector := randomTokens(rng, 1, dim)
		got := slices.Clone(vector)
		turn(got)
		from := 0
		for n := MaxTokenDimension; n > 0; n /= 2 {
			if dim&n == 0 {
				continue
			}
			for i := range n {
				want := 0.0
				for j := range n {
					sign := float64(1 - 2*(bits.OnesCount(uint(i&j))&1))
					want += sign * float64(turnSign(from+j)) * float64(vector[from+j]) / math.Sqrt(float64(n))
				}
				if math.Abs(want-float64(got[from+i])) > 1e-6 {
					t.Fatalf("dim %d: number %d is %v, not %v", dim, from+i, got[from+i], want)
				}
			}
			from += n
		}
		turnBack(got)
		for d, x := range got {
			if math.Abs(float64(x-vector[d])) > 1e-6 {
				t.Fatalf("dim %d: number %d comes back as %v, not %v", dim, d, x, vector[d])
			}
		}
	}
	minus := 0
	for d := range MaxTokenDimension {
		if turnSign(d) < 0 {
			minus++
		}
	}
	if minus < 96 || minus > 160 {
		t.Errorf("%d of %d signs are minus", minus, MaxTokenDimension)
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
			blocks := make([]byte, TokenBytes(1, dim))
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
	blocks := make([]byte, TokenBytes(1, 4))
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
	blocks := make([]byte, TokenBytes(n, dim))
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
