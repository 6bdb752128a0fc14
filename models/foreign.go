package models

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"conclave/models/onnx"
)

// exported is an encoder that another program exported to ONNX.
type exported struct {
	dir, path string
	checkpoint
	tokenizer *tokenizer
	model     *onnx.Existing
	sha256    string
	// What plan chose.
	graph     Graph
	output    onnx.Value
	pooling   string // "" where the chosen output is pooled already
	normalise bool
	extension onnx.Extension
}

// exportedFiles are where exporters put an encoder.
var exportedFiles = [...]string{"model.onnx", "onnx/model.onnx"}

// findExported returns the path of an exported model in dir, or "".
func findExported(dir string) string {
	for _, name := range exportedFiles {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// hasWeights says whether dir holds a checkpoint's own weights, which an
// import prefers.
func hasWeights(dir string) bool {
	for _, name := range []string{"model.safetensors", "model.safetensors.index.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// importExported makes a bundle of model.onnx, or of two of them.
func importExported(ctx context.Context, srcDir, outDir string, o ImportOptions) (*Bundle, error) {
	switch {
	case o.Base != "":
		return nil, errors.New("a base is for deltas, and this is an exported model")
	case o.Int8:
		return nil, errors.New("an exported ONNX model is taken as it is: int8 needs the checkpoint's model.safetensors")
	}
	question, err := openExported(srcDir, o)
	if err != nil {
		return nil, err
	}
	passage := question
	if o.PassageDir != "" {
		if passage, err = openExported(o.PassageDir, o); err != nil {
			return nil, err
		}
	}
	m, err := exportedManifest(question, passage, srcDir, outDir, o)
	if err != nil {
		return nil, err
	}
	folder, err := NewFolder(outDir)
	if err != nil {
		return nil, err
	}
	defer folder.Abandon()
	if err := folder.Create(m.Tokenizer, func(w io.Writer) error {
		_, err := w.Write(question.tokenizer.data)
		return err
	}); err != nil {
		return nil, err
	}
	if err := folder.Create(m.Question.File, question.write); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if passage != question {
		if err := folder.Create(m.Passage.File, passage.write); err != nil {
			return nil, err
		}
	}
	return folder.Finish(m)
}

func openExported(dir string, o ImportOptions) (*exported, error) {
	e := &exported{dir: dir, path: findExported(dir)}
	if e.path == "" {
		return nil, fmt.Errorf("%s has neither model.safetensors nor model.onnx", dir)
	}
	data, err := os.ReadFile(e.path)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	e.sha256 = hex.EncodeToString(sum[:])
	if e.model, err = onnx.Read(data); err != nil {
		return nil, fmt.Errorf("%s: %w", e.path, err)
	}
	e.checkpoint.dir = dir
	var h hfConfig
	if err := readJSON(filepath.Join(dir, "config.json"), &h); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	e.config.Dimension, e.config.Positions, e.config.Vocabulary = h.Hidden, h.Positions, h.Vocabulary
	e.licence = readLicence(filepath.Join(dir, "README.md"))
	if err := e.readSentenceTransformers(); err != nil {
		return nil, err
	}
	if e.tokenizer, err = readTokenizer(dir, h.Vocabulary); err != nil {
		return nil, err
	}
	if err := e.plan(o); err != nil {
		return nil, fmt.Errorf("%s: %w", e.path, err)
	}
	return e, nil
}

func exportedManifest(q, p *exported, srcDir, outDir string, o ImportOptions) (Manifest, error) {
	if a, b := q.config.Dimension, p.config.Dimension; a != b {
		return Manifest{}, fmt.Errorf("the question encoder gives vectors of %d numbers and the passage encoder of %d", a, b)
	}
	if err := q.tokenizer.same(p.tokenizer); err != nil {
		return Manifest{}, err
	}
	m := Manifest{
		Format: Format, Name: or(o.Name, nameOf(outDir)), Kind: KindDense, Dimension: q.config.Dimension,
		Pooling: or(q.pooling, PoolingGraph), Normalise: q.normalise, LowerCase: q.tokenizer.lowerCase,
		Template: or(o.Template, TemplateTitleDotText), Similarity: SimilarityInnerProduct, Precision: q.precision(),
		Tokenizer: q.tokenizer.name, Question: q.graph, Passage: p.graph,
		Lineage: Lineage{
			Source: or(o.Source, filepath.Base(filepath.Clean(srcDir))), SourceSHA256: q.sha256,
			Architecture: "exported ONNX model", Licence: or(o.Licence, q.licence), Producer: Producer,
		},
	}
	m.Question.File, m.Passage.File = bothFile, bothFile
	if q != p {
		m.Question.File, m.Passage.File = questionFile, passageFile
		if q.pooling != p.pooling || q.normalise != p.normalise {
			return Manifest{}, fmt.Errorf("the encoders pool differently: %q (unit length: %t) and %q (%t)", q.pooling, q.normalise, p.pooling, p.normalise)
		}
	}
	var err error
	if m.MaxTokens.Question, err = q.limit("question", o.MaxTokens.Question, 64); err != nil {
		return Manifest{}, err
	}
	m.MaxTokens.Passage, err = p.limit("passage", o.MaxTokens.Passage, 256)
	return m, err
}

// quantisedOperators work on 8 or fewer bits.
var quantisedOperators = []string{
	"MatMulInteger", "QLinearMatMul", "DynamicQuantizeMatMul", "MatMulIntegerToFloat", "QGemm", "QAttention", "MatMulNBits",
}

func (e *exported) precision() string {
	if slices.ContainsFunc(quantisedOperators, func(op string) bool { return e.model.Operators[op] }) {
		return PrecisionInt8
	}
	return PrecisionFP32
}

func (e *exported) write(w io.Writer) error { return e.model.Extend(w, e.extension) }

// fetch reads a weight that lies beside the model.
func (e *exported) fetch(x onnx.External) ([]byte, error) {
	if !filepath.IsLocal(filepath.FromSlash(x.Location)) {
		return nil, fmt.Errorf("it is said to lie in %q, outside the model's folder", x.Location)
	}
	root, err := os.OpenRoot(filepath.Dir(e.path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	file, err := root.Open(filepath.FromSlash(x.Location))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	length := x.Length
	if length < 0 {
		length = info.Size() - x.Offset
	}
	if length < 0 || x.Offset > info.Size()-length {
		return nil, fmt.Errorf("bytes %d to %d of %s, which has %d", x.Offset, x.Offset+length, x.Location, info.Size())
	}
	raw := make([]byte, length)
	if _, err := file.ReadAt(raw, x.Offset); err != nil {
		return nil, err
	}
	return raw, nil
}

// describe lists values for a message.
func describe(values []onnx.Value) string {
	var all []string
	for _, v := range values {
		shape := "of unknown shape"
		if v.Shape != nil {
			var dims []string
			for _, d := range v.Shape {
				switch {
				case d.Size >= 0:
					dims = append(dims, fmt.Sprint(d.Size))
				case d.Name != "":
					dims = append(dims, d.Name)
				default:
					dims = append(dims, "?")
				}
			}
			shape = "[" + strings.Join(dims, ", ") + "]"
		}
		all = append(all, fmt.Sprintf("%s %s %s", v.Name, v.Type, shape))
	}
	return strings.Join(all, "; ")
}
