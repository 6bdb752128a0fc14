package convert

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"example.org/conclave/internal/disk"
	"example.org/conclave/models"
)

// sparseEncoder is the beginning of messages about sparse checkpoints.
const sparseEncoder = "a sparse encoder (SPLADE, a masked language model)"

// questionWeightsFile is the file of a sparse expert's weights of questions' word pieces in its bundle.
const questionWeightsFile = "question.weights"

// isSparse reports whether the checkpoint is a masked language model of a family whose sparse encoders are imported.
func (t *tower) isSparse() bool {
	if t.family.masked == nil {
		return false
	}
	return t.masked || !t.modules && slices.ContainsFunc(t.architectures, func(class string) bool {
		return strings.HasSuffix(class, "ForMaskedLM")
	})
}

// checkSplade returns an error if the settings at path, in c.dir, are not those of SPLADE's pooling, the largest of
// relu. Keys or a file that are not there count as these.
func (c *checkpoint) checkSplade(path string) error {
	config := struct {
		Strategy   string `json:"pooling_strategy"`
		Activation string `json:"activation_function"`
	}{"max", "relu"}
	if !filepath.IsLocal(path) {
		return fmt.Errorf("modules.json: the path %q lies outside the checkpoint", path)
	}
	err := readJSON(filepath.Join(c.dir, path), &config)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if config.Strategy != "max" || config.Activation != "relu" {
		return fmt.Errorf(
			"%s: a sparse encoder that pools by %q of %q: max of relu is imported", path, config.Strategy,
			config.Activation,
		)
	}
	return nil
}

// importSparse makes the bundle outDir of a published sparse encoder. It fails, and changes nothing at outDir, for
// options that such an encoder cannot have, tensors that are not its own, and o.QuestionWeights that cannot be
// read.
func (t *tower) importSparse(srcDir, outDir string, o Options) (*models.Bundle, error) {
	switch {
	case o.Int8:
		return nil, errors.New(sparseEncoder + " is imported in full precision alone: leave out 8 bits")
	case o.PassageDir != "":
		return nil, errors.New(sparseEncoder + " reads passages and questions with one model: name no other for passages")
	case o.Pooling != "" && o.Pooling != models.PoolingMax, o.Normalise != nil && *o.Normalise:
		return nil, errors.New(sparseEncoder + " pools by max, and its vectors have no unit length: neither can be chosen")
	}
	side := importedSide{t.checkpoint, t.tokenizer, t.config.Vocabulary}
	m, err := newManifest(srcDir, outDir, o, [2]importedSide{side, side}, false)
	if err != nil {
		return nil, err
	}
	m.Kind = models.KindSparse
	m.Vectors.Pooling = models.PoolingMax
	m.Vectors.Question, m.Vectors.Passage = DefaultGraph(bothFile), DefaultGraph(bothFile)
	m.Lineage.Architecture = t.describeArchitecture()
	m.Lineage.SourceSHA256, err = hashWeights([]*tower{t})
	if err != nil {
		return nil, err
	}
	head := headOf(&m, t)
	if err := t.checkCheckpoint(head); err != nil {
		return nil, fmt.Errorf(
			"%s has the head of a masked language model. A dense encoder that was trained from such a model is saved as a BertModel (AutoModel in transformers does): %w",
			sparseEncoder, err,
		)
	}
	files := append(t.tokenizer.file(), graphFiles([]encoderGraph{{file: bothFile, tower: t}}, head, false)...)
	if o.QuestionWeights != "" {
		weights, err := t.questionWeights(o.QuestionWeights)
		if err != nil {
			return nil, err
		}
		m.Vectors.QuestionWeights = questionWeightsFile
		files = append(files, weights)
	}
	return writeBundle(outDir, m, nil, o.Check, files)
}

// questionWeights reads the JSON object from word piece to weight at path, and returns the bundle's file with one
// little-endian float32 for each id, 0 for pieces that the object lacks. Pieces outside of the vocabulary are
// ignored. It fails if all are, or a weight is negative.
func (t *tower) questionWeights(path string) (f bundleFile, err error) {
	var table map[string]float64
	data, err := disk.ReadRegular(path, models.MaxSmallBytes)
	if err == nil {
		err = json.Unmarshal(data, &table)
	}
	if err != nil {
		return f, fmt.Errorf("%s: it has to be a JSON object from word piece to weight: %w", path, err)
	}
	weights := make([]float32, t.config.Vocabulary)
	known := 0
	for piece, w := range table {
		id, ok := t.tokenizer.ids[piece]
		if !ok || id >= len(weights) {
			continue
		}
		if !(w >= 0 && w <= math.MaxFloat32) {
			return f, fmt.Errorf("%s: the weight of %q is %v: it must not be negative", path, piece, w)
		}
		weights[id] = float32(w)
		known++
	}
	if known == 0 {
		return f, fmt.Errorf("%s: none of its %d word pieces is in the model's vocabulary", path, len(table))
	}
	var out bytes.Buffer
	err = binary.Write(&out, binary.LittleEndian, weights)
	f = bundleFile{name: questionWeightsFile, write: func(w io.Writer) error {
		_, err := w.Write(out.Bytes())
		return err
	}}
	return f, err
}
