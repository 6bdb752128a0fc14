package numerics

import (
	"math"
	"path/filepath"
	"testing"

	ort "github.com/yalue/onnxruntime_go"

	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/models"
	"example.org/conclave/models/convert/tiny"
)

// start loads ONNX Runtime for one test.
func start(tb testing.TB) {
	tb.Helper()
	ort.SetSharedLibraryPath(testenv.Runtime(tb))
	if err := ort.InitializeEnvironment(ort.WithLogLevelError()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := ort.DestroyEnvironment(); err != nil {
			tb.Error(err)
		}
	})
}

// graph is an encoder's graph in ONNX Runtime.
type graph struct {
	session   *ort.DynamicAdvancedSession
	inputs    int
	dimension int
}

func open(tb testing.TB, b *models.Bundle, side models.Side) *graph {
	tb.Helper()
	g := b.Manifest.Vectors.Question
	if side == models.Passage {
		g = b.Manifest.Vectors.Passage
	}
	names := []string{g.InputIDs, g.AttentionMask}
	if g.TokenTypeIDs != "" {
		names = append(names, g.TokenTypeIDs)
	}
	return &graph{
		session:   load(tb, b.Path(g.File), names, g.Embedding),
		inputs:    len(names),
		dimension: b.Manifest.Dimension(),
	}
}

func load(tb testing.TB, path string, inputs []string, output string) *ort.DynamicAdvancedSession {
	tb.Helper()
	options, err := ort.NewSessionOptions()
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = options.Destroy() }()
	if err := options.SetIntraOpNumThreads(1); err != nil {
		tb.Fatal(err)
	}
	session, err := ort.NewDynamicAdvancedSession(path, inputs, []string{output}, options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = session.Destroy() })
	return session
}

// text is one row of a batch.
type text struct{ ids, types []int }

// encode runs one batch, padded to the longest text and by extra positions
// more. What stands in padded positions is filler.
func (g *graph) encode(tb testing.TB, texts []text, extra int, filler int64) [][]float32 {
	tb.Helper()
	inputs, _ := g.batch(tb, texts, extra, filler)
	flat := run(tb, g.session, inputs, int64(len(texts)), int64(g.dimension))
	vectors := make([][]float32, len(texts))
	for i := range vectors {
		vectors[i] = flat[i*g.dimension : (i+1)*g.dimension]
	}
	return vectors
}

// encodeTokens works as encode does for a late expert: of each text its tokens'
// rows, one after another.
func (g *graph) encodeTokens(tb testing.TB, texts []text, extra int, filler int64) [][]float32 {
	tb.Helper()
	inputs, longest := g.batch(tb, texts, extra, filler)
	width := g.dimension + 1
	flat := run(tb, g.session, inputs, int64(len(texts)), int64(longest), int64(width))
	rows := make([][]float32, len(texts))
	for i, t := range texts {
		at := i * longest * width
		rows[i] = flat[at : at+len(t.ids)*width]
	}
	return rows
}

// batch returns the graph's inputs and their length.
func (g *graph) batch(tb testing.TB, texts []text, extra int, filler int64) (inputs []ort.Value, width int) {
	tb.Helper()
	for _, t := range texts {
		width = max(width, len(t.ids))
	}
	width += extra
	data := make([][]int64, 3)
	for i := range data {
		data[i] = make([]int64, len(texts)*width)
	}
	for i, t := range texts {
		for j := range width {
			at := i*width + j
			data[0][at] = filler
			if j < len(t.ids) {
				data[0][at] = int64(t.ids[j])
				data[1][at] = 1
				if t.types != nil {
					data[2][at] = int64(t.types[j])
				}
			}
		}
	}
	for _, values := range data[:g.inputs] {
		tensor, err := ort.NewTensor(ort.NewShape(int64(len(texts)), int64(width)), values)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = tensor.Destroy() })
		inputs = append(inputs, tensor)
	}
	return inputs, width
}

func run(tb testing.TB, session *ort.DynamicAdvancedSession, inputs []ort.Value, shape ...int64) []float32 {
	tb.Helper()
	output, err := ort.NewEmptyTensor[float32](ort.NewShape(shape...))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = output.Destroy() }()
	if err := session.Run(inputs, []ort.Value{output}); err != nil {
		tb.Fatal(err)
	}
	return append([]float32{}, output.GetData()...)
}

func write(tb testing.TB, o tiny.Expert) *models.Bundle {
	tb.Helper()
	b, err := tiny.Write(filepath.Join(tb.TempDir(), "bundle"), o)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func base(tb testing.TB, precision string) *models.Bundle {
	tb.Helper()
	b, err := models.Load(testenv.Base(tb, precision))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// apart returns the largest difference of two vectors' components.
func apart(a, b []float32) float64 {
	var largest float64
	for i := range a {
		// Written so that NaN counts as infinitely far.
		if d := math.Abs(float64(a[i]) - float64(b[i])); !(d <= largest) {
			largest = d
		}
	}
	if len(a) != len(b) || math.IsNaN(largest) {
		return math.Inf(1)
	}
	return largest
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}
