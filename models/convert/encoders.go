package convert

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"example.org/conclave/models"
	"example.org/conclave/models/convert/bert"
)

// encoders are the two encoders of an import; the same one if it serves both sides.
type encoders struct{ question, passage *tower }

// openEncoders opens the encoder in dir for questions and passages, or, if passageDir is not "", the one in dir for
// questions and the one in passageDir for passages. It fails if a checkpoint or its tokenizer cannot be read, or a
// folder has DPR's encoder of the other side; nothing is left open then. The caller closes the encoders.
func openEncoders(ctx context.Context, dir, passageDir string) (*encoders, error) {
	question, err := openTower(ctx, dir)
	if err != nil {
		return nil, err
	}
	e := &encoders{question: question, passage: question}
	if passageDir != "" {
		e.passage, err = openTower(ctx, passageDir)
		if err != nil {
			question.close()
			return nil, err
		}
	}
	switch {
	case e.question.head == passagePrefix:
		err = fmt.Errorf(
			"%s holds no question encoder (%s…): give the question encoder's checkpoint first and this one as the passage encoder's",
			dir, questionPrefix,
		)
	case e.passage.head == questionPrefix && passageDir == "":
		err = fmt.Errorf(
			"%s holds a question encoder and no passage encoder (%s…): name the passage encoder's checkpoint too", dir,
			passagePrefix,
		)
	case e.passage.head == questionPrefix:
		err = fmt.Errorf("%s holds no passage encoder (%s…)", passageDir, passagePrefix)
	default:
		return e, nil
	}
	e.close()
	return nil, err
}

// close closes the weights' files of the encoders.
func (e *encoders) close() {
	for _, t := range e.distinctTowers() {
		t.close()
	}
}

// distinctTowers returns the question's encoder and the passage's, in this order, or one if they are the same.
func (e *encoders) distinctTowers() []*tower {
	if e.question == e.passage {
		return []*tower{e.question}
	}
	return []*tower{e.question, e.passage}
}

// checkTensors returns an error if the tensors of one of the encoders are not those of its configuration with head
// behind it.
func (e *encoders) checkTensors(head bert.Head) error {
	var all []error
	for _, t := range e.distinctTowers() {
		all = append(all, t.checkCheckpoint(head))
	}
	return errors.Join(all...)
}

// newManifest returns the manifest of a bundle of the encoders, without Files. What o leaves open is the
// checkpoints', and DPR's pooling and length as published, which are also set in the question's checkpoint. It
// reads the weights for their SHA-256. It fails if the checkpoints and options leave something open
// (*UndecidedError), contradict each other or ask for the impossible.
func (e *encoders) newManifest(srcDir, outDir string, o Options) (models.Manifest, error) {
	q, p := e.question, e.passage
	if o.Pooling == models.PoolingTokens {
		return models.Manifest{}, fmt.Errorf("the pooling %q is for late experts, which are imported from a delta", o.Pooling)
	}
	hash, err := hashWeights(e.distinctTowers())
	if err != nil {
		return models.Manifest{}, err
	}
	m, err := newManifest(
		srcDir, outDir, o,
		[2]importedSide{{q.checkpoint, q.tokenizer, q.config.Output()}, {p.checkpoint, p.tokenizer, p.config.Output()}},
		q.isDPR(),
	)
	if err != nil {
		return m, err
	}
	if q.isDPR() && q.pooling == "" { // as it was published (dpr, section 3.1)
		q.pooling = models.PoolingCLS
	}
	if q.isDPR() && q.normalise == nil {
		q.normalise = new(false)
	}
	m.Vectors.Pooling, err = q.poolingOf(o)
	if err != nil {
		return m, err
	}
	m.Vectors.Normalise = q.unitLength(o)
	m.Vectors.Question, m.Vectors.Passage = DefaultGraph(bothFile), DefaultGraph(bothFile)
	if q != p {
		m.Vectors.Question, m.Vectors.Passage = DefaultGraph(questionFile), DefaultGraph(passageFile)
	}
	if o.Int8 {
		m.Precision = models.PrecisionInt8
	}
	m.Lineage.Architecture = q.describeArchitecture()
	m.Lineage.SourceSHA256 = hash
	return m, err
}

// importedSide is the encoder of one side, as far as a manifest needs to know it.
type importedSide struct {
	*checkpoint
	words     *tokenizer
	dimension int
}

// newManifest returns the part of a manifest that all imports of encoders with vectors have, for the question's and
// the passage's; dpr chooses DPR's template and limits. Pooling, graphs, architecture and sums are left empty. It
// fails if the two sides have other dimensions or tokenizers, the options are impossible for them, or which prompt
// is for which side is open (*UndecidedError).
func newManifest(srcDir, outDir string, o Options, sides [2]importedSide, dpr bool) (m models.Manifest, err error) {
	q, p := sides[models.Question], sides[models.Passage]
	if q.dimension != p.dimension {
		return m, fmt.Errorf(
			"the question encoder gives vectors of %d numbers and the passage encoder of %d", q.dimension, p.dimension,
		)
	}
	if err := q.words.same(p.words); err != nil {
		return m, err
	}
	template := models.TemplateTitleDotText
	longest := models.MaxTokens{Question: 64, Passage: 256}
	if dpr {
		template = models.TemplatePair
		longest.Question = 256
	}
	m = models.Manifest{
		Format: models.Format, Name: cmp.Or(o.Name, nameOf(outDir)), Kind: models.KindDense,
		LowerCase: q.words.lowerCase, Precision: models.PrecisionFP32, Tokenizer: q.words.name,
		Vectors: &models.Vectors{
			Dimension: q.dimension, Template: cmp.Or(o.Template, template), Similarity: models.SimilarityInnerProduct,
			Languages: o.Languages,
		},
		Lineage: models.Lineage{
			Source:   cmp.Or(o.Source, filepath.Base(filepath.Clean(srcDir))),
			Licence:  cmp.Or(o.Licence, q.licence),
			Producer: Producer,
		},
	}
	m.Vectors.Prefix, err = q.choosePrefixes(o)
	if err != nil {
		return m, err
	}
	m.Vectors.MaxTokens.Question, err = q.inputLimit("question", o.MaxTokens.Question, longest.Question)
	if err != nil {
		return m, err
	}
	m.Vectors.MaxTokens.Passage, err = p.inputLimit("passage", o.MaxTokens.Passage, longest.Passage)
	return m, err
}

// inputLimit returns the most tokens of an input of one side: asked, if it is not 0; else otherwise, or what the
// checkpoint allows if that is less. It fails if asked is more than the model has positions (512 where that is
// unknown); side names the input in the error.
func (c *checkpoint) inputLimit(side string, asked, otherwise int) (int, error) {
	positions := c.config.Positions
	if positions <= 0 { // an exported model that does not say
		positions = 512
	}
	if asked > positions {
		return 0, fmt.Errorf("%s of %d tokens asked for; the model has %d positions", side, asked, positions)
	}
	if asked > 0 {
		return asked, nil
	}
	limit := min(otherwise, positions)
	if c.maxTokens > 0 {
		limit = min(limit, c.maxTokens)
	}
	return limit, nil
}

// hashWeights returns the SHA-256, in hexadecimal, of the weights' file of one encoder; for several, the SHA-256 of the
// files' hashes, each followed by a newline. It fails if a file cannot be read.
func hashWeights(all []*tower) (string, error) {
	hash := sha256.New()
	for _, t := range all {
		sum, err := models.HashFile(t.set.Path)
		if err != nil || len(all) == 1 {
			return sum, err
		}
		_, _ = fmt.Fprintln(hash, sum)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// nameOf returns an expert's name made of the last element of dir's absolute path: in lower case, with "-" for each
// character that a name cannot have, and at most 64 bytes, without . _ - at its ends. It may be "".
func nameOf(dir string) string {
	if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(filepath.Base(dir)))
	return strings.Trim(name[:min(len(name), 64)], "._-")
}
