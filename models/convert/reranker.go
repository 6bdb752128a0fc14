package convert

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"example.org/conclave/models"
	"example.org/conclave/models/convert/bert"
)

// rerankerTokens is the largest number of tokens of an imported reranker's input, as its makers use it.
const rerankerTokens = 512

const rerankerFile = "reranker.onnx"

// DefaultReranker returns the description of the graph that Import writes for a reranker.
func DefaultReranker() *models.RerankerGraph {
	return &models.RerankerGraph{
		File:          rerankerFile,
		InputIDs:      "input_ids",
		AttentionMask: "attention_mask",
		TokenTypeIDs:  "token_type_ids",
		Score:         bert.Score,
	}
}

// isReranker reports whether the checkpoint is a cross-encoder: it classifies sequences, in a family whose head is
// known, and has one label.
func (t *tower) isReranker() bool {
	if len(t.architectures) > 0 && !strings.HasSuffix(t.architectures[0], "ForSequenceClassification") {
		return false
	}
	if t.family.score == "" {
		return false
	}
	info, ok := t.set.Info(t.name(bert.RerankerScore + ".weight"))
	return ok && len(info.Shape) == 2 && info.Shape[0] == 1
}

// notVectors returns an error if o has an option that concerns vectors; model is the kind, with its article, for
// the error: "a reader".
func (o *Options) notVectors(model string) error {
	for option, given := range map[string]bool{
		"pooling":         o.Pooling != "",
		"unit length":     o.Normalise != nil,
		"output":          o.Output != "",
		"prefix":          o.QuestionPrefix != nil || o.PassagePrefix != nil,
		"passage encoder": o.PassageDir != "",
	} {
		if given {
			return fmt.Errorf("this is %s, which makes no vectors: the %s cannot be chosen", model, option)
		}
	}
	return nil
}

// importReranker makes the bundle outDir of a published cross-encoder. o.MaxTokens.Passage is the limit of question
// and passage together. It fails, and changes nothing at outDir, for options that concern vectors, too long limits,
// and tensors that are not a cross-encoder's.
func (t *tower) importReranker(srcDir, outDir string, o Options) (*models.Bundle, error) {
	if err := o.notVectors("a reranker"); err != nil {
		return nil, err
	}
	if asked := o.MaxTokens.Passage; asked > t.config.Positions {
		return nil, fmt.Errorf("passage of %d tokens asked for; the model has %d positions", asked, t.config.Positions)
	}
	if o.MaxTokens.Question > 0 {
		return nil, fmt.Errorf(
			"question of %d tokens asked for; a reranker limits question and passage together, which the longest passage says",
			o.MaxTokens.Question,
		)
	}
	m := models.Manifest{
		Format: models.Format, Name: cmp.Or(o.Name, nameOf(outDir)), Kind: models.KindReranker,
		LowerCase: t.tokenizer.lowerCase, Precision: models.PrecisionFP32, Tokenizer: t.tokenizer.name,
		Reranker: &models.Reranker{
			Tokens:   cmp.Or(o.MaxTokens.Passage, min(rerankerTokens, t.config.Positions)),
			Template: cmp.Or(o.Template, models.TemplateTitleDotText),
			Segments: t.config.TokenTypes > 1 && !t.family.typeless,
			Graph:    DefaultReranker(),
		},
		Lineage: models.Lineage{
			Source:       cmp.Or(o.Source, filepath.Base(filepath.Clean(srcDir))),
			Licence:      cmp.Or(o.Licence, t.licence),
			Producer:     Producer,
			Architecture: t.describeArchitecture(),
		},
	}
	if o.Int8 {
		m.Precision = models.PrecisionInt8
	}
	var err error
	m.Lineage.SourceSHA256, err = hashWeights([]*tower{t})
	if err != nil {
		return nil, err
	}
	head := bert.Head{Rerank: t.family.activation}
	if err := t.checkCheckpoint(head); err != nil {
		return nil, err
	}
	graphs := graphFiles([]encoderGraph{{file: m.Reranker.Graph.File, tower: t}}, head, o.Int8)
	return writeBundle(outDir, m, nil, o.Check, append(t.tokenizer.file(), graphs...))
}
