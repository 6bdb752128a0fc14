package numerics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	ort "github.com/yalue/onnxruntime_go"

	"example.org/conclave/models"
	"example.org/conclave/models/convert/bert"
	"example.org/conclave/models/convert/tiny"
)

// texts draws token ids and types of several lengths.
func texts(source *rand.Rand, vocabulary int, lengths ...int) []text {
	var all []text
	for _, n := range lengths {
		t := text{}
		for range n {
			t.ids = append(t.ids, source.IntN(vocabulary))
			t.types = append(t.types, source.IntN(2))
		}
		all = append(all, t)
	}
	return all
}

// TestGraphsComputeBERT compares the float32 graphs with BERT in plain Go,
// over the forms that checkpoints have.
func TestGraphsComputeBERT(t *testing.T) {
	start(t)
	for i, o := range []tiny.Expert{
		{},
		{RawLength: true},
		{Pooling: models.PoolingCLS},
		{Pooling: models.PoolingCLS, RawLength: true, Projection: 24},
		{Pooling: models.PoolingPooler, Layers: 1},
		{Pooling: models.PoolingMean, Projection: 7, Heads: 1},
		{Activation: "gelu_new", Heads: 8, Layers: 3, Dimension: 48},
		{Activation: "relu", Pooling: models.PoolingCLS, Heads: 32},
		{Relative: 32},
		{Relative: 16, Pooling: models.PoolingCLS, Heads: 2},
	} {
		o.Seed = uint64(i)
		t.Run(fmt.Sprintf("%s,%s", or(o.Pooling, "mean"), o.Config()), func(t *testing.T) {
			g := open(t, write(t, o), models.Question)
			source := rand.New(rand.NewPCG(uint64(i), 1))
			all := texts(source, len(tiny.Vocabulary()), 1, 2, 9, 33, 12, 512)
			got := g.encode(t, all, 0, 0)
			head := bert.Head{Pooling: or(o.Pooling, "mean"), Normalise: !o.RawLength}
			for j, x := range all {
				want := reference(t, o.Config(), o.Weights(models.Question), head, x)
				if d := apart(got[j], want); d > 5e-6 {
					t.Errorf("%d tokens: %g apart", len(x.ids), d)
				}
			}
		})
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// TestInt8IsNear: random weights of 32 dimensions are harder to round than
// trained ones of 384, which TestBaseInt8 measures.
func TestInt8IsNear(t *testing.T) {
	start(t)
	for i, o := range []tiny.Expert{{}, {Pooling: models.PoolingCLS}, {Activation: "relu"}, {Pooling: models.PoolingPooler, Activation: "gelu_new"}, {Projection: 16, Dimension: 64}, {Relative: 32}} {
		o.Seed = uint64(i)
		full := open(t, write(t, o), models.Question)
		o.Int8 = true
		short := open(t, write(t, o), models.Question)
		all := texts(rand.New(rand.NewPCG(uint64(i), 2)), len(tiny.Vocabulary()), 1, 3, 9, 20, 64, 200)
		want, got := full.encode(t, all, 0, 0), short.encode(t, all, 0, 0)
		sum := 0.0
		for j := range all {
			c := cosine(want[j], got[j])
			sum += c
			if !(c > 0.98) {
				t.Errorf("%+v: cosine %.4f at %d tokens", o, c, len(all[j].ids))
			}
			if want[j][0] == got[j][0] {
				t.Errorf("%+v: the int8 graph is not in int8", o)
			}
		}
		if mean := sum / float64(len(all)); !(mean > 0.995) {
			t.Errorf("%+v: cosine %.4f on average", o, mean)
		}
	}
}

// TestNeighboursAndPaddingChangeNothing, whatever the padding holds.
func TestNeighboursAndPaddingChangeNothing(t *testing.T) {
	start(t)
	for _, o := range []tiny.Expert{{}, {Pooling: models.PoolingCLS}, {Int8: true},
		{Int8: true, Pooling: models.PoolingCLS}, {Relative: 32}, {Relative: 32, Pooling: models.PoolingCLS}} {
		g := open(t, write(t, o), models.Question)
		unmoved(t, fmt.Sprintf("%+v", o), 3, g.encode)
	}
}

// unmoved encodes texts alone, padded, and beside others: what they get is the
// same to 1e-6.
func unmoved(
	t *testing.T,
	name string,
	seed uint64,
	encode func(tb testing.TB, texts []text, extra int, filler int64) [][]float32,
) {
	t.Helper()
	source := rand.New(rand.NewPCG(1, seed))
	all := texts(source, len(tiny.Vocabulary()), 1, 2, 3, 5, 8, 13, 40, 120)
	together := encode(t, all, 0, 0)
	apartFrom := func(how string, got [][]float32) {
		t.Helper()
		for i := range all {
			if d := apart(got[i], together[i]); d > 1e-6 {
				t.Errorf("%s: %s: text %d moved by %g", name, how, i, d)
			}
		}
	}
	var alone [][]float32
	for _, x := range all {
		alone = append(alone, encode(t, []text{x}, 0, 0)[0])
	}
	apartFrom("alone", alone)
	apartFrom("padded", encode(t, all, 100, 0))
	apartFrom("padded with words", encode(t, all, 30, 77))
	loud := append(append([]text{}, all...), texts(source, len(tiny.Vocabulary()), 300, 400)...)
	apartFrom("beside others", encode(t, loud, 0, 0)[:len(all)])
}

func TestTwoTowersDiffer(t *testing.T) {
	start(t)
	b := write(t, tiny.Expert{TwoTowers: true})
	x := []text{{ids: []int{2, 9, 30, 3}}}
	q, p := open(t, b, models.Question).encode(t, x, 0, 0), open(t, b, models.Passage).encode(t, x, 0, 0)
	if apart(q[0], p[0]) < 0.01 {
		t.Error("the towers are the same")
	}
}

// TestEnsembleComputesItsMembers: each the product of its matrix and the vector.
func TestEnsembleComputesItsMembers(t *testing.T) {
	start(t)
	o := tiny.Expert{EnsembleMembers: 4, Seed: 5}
	b := write(t, o)
	d := b.Manifest.Dimension()
	batch := 2
	members := o.Members()
	source := rand.New(rand.NewPCG(3, 4))
	vectors := make([]float32, batch*d)
	for i := range vectors {
		vectors[i] = float32(source.NormFloat64())
	}
	session := load(t, b.Path(b.Manifest.Vectors.Ensemble.File), []string{models.EnsembleInput}, models.EnsembleOutput)
	input, err := ort.NewTensor(ort.NewShape(int64(batch), int64(d)), vectors)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = input.Destroy() }()
	got := run(t, session, []ort.Value{input}, int64(batch), int64(len(members)), int64(d))
	for i, v := range got {
		row := members[i/d%len(members)][i%d*d:][:d]
		sum := 0.0
		for j, w := range row {
			sum += float64(w) * float64(vectors[i/d/len(members)*d+j])
		}
		if math.Abs(sum-float64(v)) > 1e-5 {
			t.Fatalf("number %d is %g, not %g", i, v, sum)
		}
	}
}
