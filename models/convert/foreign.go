package convert

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"example.org/conclave/internal/disk"
	"example.org/conclave/models"
	"example.org/conclave/models/convert/onnx"
)

// exportedModel is an encoder that another program exported to ONNX.
type exportedModel struct {
	path string
	checkpoint
	tokenizer *tokenizer
	model     *onnx.Model
	sha256    string
	// What plan chose.
	graph     models.Graph
	output    *onnx.Value
	pooling   string // "" where the chosen output is pooled already
	normalise bool
}

// exportedFiles are the paths where exporters write an encoder.
var exportedFiles = [...]string{"model.onnx", "onnx/model.onnx"}

// findExported returns the path of the first of exportedFiles that is a regular file in dir, or "".
func findExported(dir string) string {
	for _, name := range exportedFiles {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// hasWeights reports whether dir holds a checkpoint's own weights, in one file or several, which an import prefers
// to an exported model.
func hasWeights(dir string) bool {
	for _, name := range []string{"model.safetensors", "model.safetensors.index.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// importExported makes the bundle outDir of the exported ONNX model in srcDir or, with o.PassageDir, of two of
// them. It fails, and changes nothing at outDir, if they cannot be used, differ in what they need, or for options
// that such a model cannot have (8 bits, a base).
func importExported(ctx context.Context, srcDir, outDir string, o Options) (*models.Bundle, error) {
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
		passage, err = openExported(o.PassageDir, o)
		if err != nil {
			return nil, err
		}
	}
	m, err := exportedManifest(question, passage, srcDir, outDir, o)
	if err != nil {
		return nil, err
	}
	files := append(question.tokenizer.file(), bundleFile{m.Vectors.Question.File, question.model.Write})
	if passage != question {
		files = append(files, bundleFile{m.Vectors.Passage.File, passage.model.Write})
	}
	return writeBundle(outDir, m, nil, o.Check, files)
}

// openExported reads the exported ONNX model in dir with its weights, and what its folder says of pooling and
// tokenizer, and extends it as o asks (planExport). It fails if there is no model or it cannot be used.
func openExported(dir string, o Options) (*exportedModel, error) {
	e := &exportedModel{path: findExported(dir)}
	if e.path == "" {
		return nil, fmt.Errorf("%s has neither model.safetensors nor model.onnx", dir)
	}
	data, err := disk.ReadRegular(e.path, models.MaxGraphBytes)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	e.sha256 = hex.EncodeToString(sum[:])
	e.model, err = onnx.Read(data)
	if err != nil {
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
	e.tokenizer, err = readTokenizer(dir, h.Vocabulary)
	if err != nil {
		return nil, err
	}
	if err := e.planExport(o); err != nil {
		return nil, fmt.Errorf("%s: %w", e.path, err)
	}
	return e, nil
}

// exportedManifest returns the manifest, without Files, of the bundle of two exported models, for questions and
// passages; q and p are the same for one model. It fails as newManifest does, and if the two pool differently. The
// SHA-256 of the source is the question's.
func exportedManifest(q, p *exportedModel, srcDir, outDir string, o Options) (models.Manifest, error) {
	m, err := newManifest(
		srcDir, outDir, o,
		[2]importedSide{{&q.checkpoint, q.tokenizer, q.config.Dimension}, {&p.checkpoint, p.tokenizer, p.config.Dimension}},
		false,
	)
	if err != nil {
		return m, err
	}
	m.Vectors.Pooling = cmp.Or(q.pooling, models.PoolingGraph)
	m.Vectors.Normalise = q.normalise
	m.Vectors.Question, m.Vectors.Passage = q.graph, p.graph
	m.Vectors.Question.File, m.Vectors.Passage.File = bothFile, bothFile
	if q != p {
		m.Vectors.Question.File, m.Vectors.Passage.File = questionFile, passageFile
		if q.pooling != p.pooling || q.normalise != p.normalise {
			err = fmt.Errorf(
				"the encoders pool differently: %q (unit length: %t) and %q (%t)", q.pooling, q.normalise, p.pooling,
				p.normalise,
			)
		}
	}
	if q.model.Uses(quantisedOperators...) {
		m.Precision = models.PrecisionInt8
	}
	m.Lineage.SourceSHA256 = q.sha256
	m.Lineage.Architecture = "exported ONNX model"
	return m, err
}

// quantisedOperators are operators on numbers of 8 or fewer bits.
var quantisedOperators = []string{
	"MatMulInteger", "QLinearMatMul", "DynamicQuantizeMatMul", "MatMulIntegerToFloat", "QGemm", "QAttention",
	"MatMulNBits",
}

// embedWeights reads the weights that the model keeps in other files of its folder, and puts them into the model in
// memory. It fails if a file is missing, too short or outside of the folder.
func (e *exportedModel) embedWeights() error {
	root, err := os.OpenRoot(filepath.Dir(e.path))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, t := range e.model.Graph.Initialisers {
		from, err := t.File()
		if err != nil {
			return err
		}
		if from == nil {
			continue
		}
		raw, err := readWeight(root, from)
		if err != nil {
			return fmt.Errorf("the weight %q: %w", t.Name, err)
		}
		t.Embed(raw)
	}
	return nil
}

// readWeight reads the bytes that from describes out of a file in folder; a Length below 0 means up to the file's
// end. It fails if there is no regular file, or it is shorter.
func readWeight(folder *os.Root, from *onnx.ExternalData) ([]byte, error) {
	opened, err := disk.OpenRegularIn(folder.FS(), from.Location)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }()
	info, err := opened.Stat()
	if err != nil {
		return nil, err
	}
	file, ok := opened.(io.ReaderAt)
	if !ok {
		return nil, fmt.Errorf("%s cannot be read from its middle", from.Location)
	}
	length := from.Length
	if length < 0 {
		length = info.Size() - from.Offset
	}
	if length < 0 || from.Offset > info.Size()-length {
		return nil, fmt.Errorf(
			"bytes %d to %d of %s, which has %d", from.Offset, from.Offset+length, from.Location, info.Size(),
		)
	}
	raw := make([]byte, length)
	_, err = file.ReadAt(raw, from.Offset)
	return raw, err
}
