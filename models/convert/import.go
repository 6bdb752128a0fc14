// Package convert makes expert bundles (package models): from checkpoints as they are
// published, from exported ONNX models, and from deltas, which it merges with their base. The
// packages below it read and write the formats: weights (safetensors), graphs (onnx), and the
// graphs of BERT and of T5.
package convert

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"example.org/conclave/models"
)

// Options are how a checkpoint becomes a bundle. The zero value takes everything from the checkpoint.
type Options struct {
	// Name of the expert; the name of the bundle's folder by default.
	Name string
	// Source is what the card says about where the weights are from; the
	// name of the checkpoint's folder by default.
	Source string
	// PassageDir is the checkpoint of the passage encoder, where it has a
	// folder of its own.
	PassageDir string
	// Int8 stores the linear layers in 8 bits: a quarter of the size, faster,
	// vectors within a cosine of about 0.99 of the full ones.
	Int8 bool
	// Pooling overrides what the checkpoint says. Where neither says it, the import is
	// an *UndecidedError; DPR's is cls.
	Pooling string
	// Normalise overrides whether vectors get unit length.
	Normalise *bool
	// QuestionPrefix and PassagePrefix override what comes before the texts.
	QuestionPrefix, PassagePrefix *string
	// Languages are those that a dense or sparse encoder reads (models.Vectors.Languages); nil: that is not known.
	Languages []string
	// Template overrides how a passage's title and text are joined: pair for
	// DPR, title-dot-text for others.
	Template string
	// MaxTokens overrides the length limits: 64 and 256 (DPR: 256 and 256), or
	// what the checkpoint allows if that is less.
	MaxTokens models.MaxTokens
	// Output names the output that has the vectors, where an exported model has
	// several that may.
	Output string
	// Licence overrides what the checkpoint's README says.
	Licence string
	// Beams is the number of beams in a generator's search for an answer; 1 by default.
	Beams int
	// QuestionWeights is the file of a sparse encoder's weights of questions' word pieces, JSON from word piece to
	// weight: its questions then take no run of the model. "": the model reads questions, too.
	QuestionWeights string
	// Base is the folder of a delta's base checkpoint; PassageDir is then that of
	// the base's passage encoder. Other imports take no base.
	Base string
	// Tell is called with each assumption of the import. May be nil.
	Tell func(Assumption)
	// Check is called with the bundle before it takes its place. Its error ends the import, and what was in that place
	// stays. May be nil.
	Check func(*models.Bundle) error
}

// Import makes the bundle outDir from the checkpoint in srcDir: config.json,
// model.safetensors, and tokenizer.json or vocab.txt, with the tensor names
// of a BertModel or of DPR's question encoder, whose passage encoder is then in
// PassageDir, or of another of the families. A DPRReader and a BertForQuestionAnswering
// become readers, and a BertForSequenceClassification with one label becomes a reranker.
//
// Where there is no model.safetensors but a model.onnx (or onnx/model.onnx),
// that is taken, whichever program exported it. Its inputs must be input_ids and
// attention_mask, and may be token_type_ids. Its output is found by name and shape.
// Pooling and normalisation are added where they are missing.
//
// A T5 becomes a generator; see models.Generator. Its tokenizer.json has to be there.
//
// A delta bundle is merged with its base; see Delta.Merge.
//
// Import replaces the bundle in outDir. A failed or interrupted import leaves
// nothing behind. The same checkpoint and options give the same bytes.
func Import(ctx context.Context, srcDir, outDir string, o Options) (*models.Bundle, error) {
	from := importCheckpoint
	if _, err := os.Stat(filepath.Join(srcDir, models.ManifestFile)); err == nil {
		from = importDelta
	} else if isT5(srcDir) {
		from = importGenerator
	} else if !hasWeights(srcDir) && findExported(srcDir) != "" {
		from = importExported
	}
	b, err := from(ctx, srcDir, outDir, o)
	if err != nil {
		return nil, fmt.Errorf("importing %s: %w", srcDir, err)
	}
	return b, nil
}

// importDelta makes the bundle outDir of the delta in srcDir merged with its base. It fails if the delta is damaged, if
// the base cannot be fetched or is another one than the delta's, or if outDir cannot be written.
func importDelta(ctx context.Context, srcDir, outDir string, o Options) (*models.Bundle, error) {
	d, err := OpenDelta(os.DirFS(srcDir))
	if err != nil {
		return nil, err
	}
	return d.Merge(ctx, outDir, o)
}

// importCheckpoint makes the bundle outDir of the checkpoint in srcDir: a reader, a reranker, a sparse expert or a
// dense one, by what it holds. It fails, and changes nothing at outDir, if the checkpoint cannot be imported
// (*KindError: it is of another kind; *UndecidedError: a setting is open).
func importCheckpoint(ctx context.Context, srcDir, outDir string, o Options) (*models.Bundle, error) {
	if o.Base != "" {
		return nil, errors.New("a base is for deltas, and this is a checkpoint")
	}
	e, err := openEncoders(ctx, srcDir, o.PassageDir)
	if err != nil {
		return nil, err
	}
	defer e.close()
	if e.question.isReader() {
		return e.question.importReader(srcDir, outDir, o)
	}
	if e.question.isReranker() {
		return e.question.importReranker(srcDir, outDir, o)
	}
	if e.question.isSparse() {
		return e.question.importSparse(srcDir, outDir, o)
	}
	for _, t := range e.distinctTowers() {
		if err := errors.Join(t.prefixProblem(), t.checkKind(t.set.Names())); err != nil {
			return nil, err
		}
	}
	m, err := e.newManifest(srcDir, outDir, o)
	if err != nil {
		return nil, err
	}
	head := headOf(&m, e.question)
	if err := e.checkTensors(head); err != nil {
		return nil, err
	}
	var graphs []encoderGraph
	for i, t := range e.distinctTowers() {
		graphs = append(graphs, encoderGraph{file: []string{m.Vectors.Question.File, m.Vectors.Passage.File}[i], tower: t})
	}
	return writeBundle(outDir, m, nil, o.Check, append(e.question.tokenizer.file(), graphFiles(graphs, head, o.Int8)...))
}

// Producer is the name and version in the lineage of bundles that this package writes. The number is increased when the
// same checkpoint would become other files, so that `conclave setup` recognises a bundle that has to be made again.
const Producer = "conclave models import 3"
