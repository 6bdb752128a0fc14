package convert

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"example.org/conclave/models"
	"example.org/conclave/models/convert/bert"
	"example.org/conclave/models/convert/safetensors"
)

// tower is one encoder of a checkpoint: a BertModel, or one of DPR's two.
type tower struct {
	*checkpoint
	ctx       context.Context
	set       *safetensors.File
	tokenizer *tokenizer
	body      string // prefix of the BertModel's tensors
	head      string // prefix of encode_proj, "" where it is no encoder of DPR's
}

// The prefixes under which checkpoints keep a BertModel. DPR's two come from
// transformers' DPRQuestionEncoder and DPRContextEncoder.
const (
	questionPrefix = "question_encoder."
	passagePrefix  = "ctx_encoder."
	dprBody        = "bert_model."
	taskPrefix     = "bert." // a BertModel inside a model with a task head
	// Of transformers' DPRReader, whose heads follow the prefix.
	spanPrefix = "span_predictor."
	spanBody   = spanPrefix + "encoder." + dprBody
)

// readerHeads are the names that transformers gives to a reader's heads.
var readerHeads = strings.NewReplacer("reader.span.", "qa_outputs.", "reader.select.", "qa_classifier.")

// openTower opens the checkpoint of an encoder in dir with its tokenizer, and finds the prefix of its tensors' names.
// It fails if config.json, the tokenizer or model.safetensors is missing or damaged, and for models that cannot be
// imported; it does not compare the tensors with the configuration (checkCheckpoint). The caller closes the tower.
// Tensor fails once ctx has ended.
func openTower(ctx context.Context, dir string) (*tower, error) {
	c, err := readCheckpoint(dir)
	if err != nil {
		return nil, err
	}
	words, err := readTokenizer(dir, c.config.Vocabulary)
	if err != nil {
		return nil, err
	}
	set, err := safetensors.OpenCheckpoint(dir)
	if err != nil {
		return nil, err
	}
	t := &tower{checkpoint: c, ctx: ctx, set: set, tokenizer: words}
	has := func(prefix string) bool {
		return slices.ContainsFunc(set.Names(), func(name string) bool { return strings.HasPrefix(name, prefix) })
	}
	switch prefix := c.family.prefix; {
	case has(questionPrefix + dprBody):
		t.head = questionPrefix
		t.body = questionPrefix + dprBody
	case has(passagePrefix + dprBody):
		t.head = passagePrefix
		t.body = passagePrefix + dprBody
	case has(spanBody):
		t.head, t.body = spanPrefix, spanBody
	case has(prefix + "embeddings."):
		t.body = prefix
	}
	return t, nil
}

// close closes the files of the checkpoint.
func (t *tower) close() { _ = t.set.Close() }

// isDPR reports whether the encoder is one of DPR's, whose passages are title and text as a pair.
func (t *tower) isDPR() bool { return t.dpr || t.head != "" }

// name returns the name that the checkpoint gives to the BertModel's tensor plain, or to one of a head's
// (bert.ReaderNames and others). Old checkpoints call a layer norm's weight and bias gamma and beta. It is the
// usual name if the tensor is not there.
func (t *tower) name(plain string) string {
	full := t.body + t.family.tensorName(plain)
	switch {
	case strings.HasPrefix(plain, "reranker."):
		full = t.family.classifierName(plain, t.body)
	case strings.HasPrefix(plain, "mlm."):
		full = t.family.masked.Replace(plain)
		if _, ok := t.set.Info(full); !ok && plain == bert.SparseWords+".weight" { // the same table, saved once
			full = t.body + t.family.tensorName(wordTable)
		}
	case strings.HasPrefix(plain, "encode_proj."):
		full = t.head + plain
	case strings.HasPrefix(plain, "reader."):
		full = t.head + readerHeads.Replace(plain)
	}
	if _, ok := t.set.Info(full); ok {
		return full
	}
	old := strings.Replace(
		strings.Replace(full, "LayerNorm.weight", "LayerNorm.gamma", 1), "LayerNorm.bias", "LayerNorm.beta", 1,
	)
	if _, ok := t.set.Info(old); ok {
		return old
	}
	return full
}

// Tensor returns the values of the BertModel's tensor name: without the rows of positions that no token has, and
// zeros for the table of token types that some families lack; see tensors.Weights. It also fails once the context
// of openTower has ended.
func (t *tower) Tensor(name string, shape ...int) ([]float32, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	skip := 0
	switch {
	case name == tokenTypes && t.family.typeless:
		return make([]float32, shape[0]*shape[1]), nil
	case name == positions:
		skip = t.firstPosition
	}
	values, err := t.set.Floats(t.name(name), t.shape(name, shape)...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.dir, err)
	}
	return values[skip*shape[len(shape)-1]:], nil
}

// The tables that not all families have as BERT has them.
const (
	wordTable  = "embeddings.word_embeddings.weight"
	positions  = "embeddings.position_embeddings.weight"
	tokenTypes = "embeddings.token_type_embeddings.weight"
)

// shape returns the shape that the checkpoint gives to the BertModel's tensor plain, whose shape there is given:
// more rows for the table of positions in some families.
func (t *tower) shape(plain string, shape []int) []int {
	if plain == positions && t.firstPosition > 0 {
		return []int{shape[0] + t.firstPosition, shape[1]}
	}
	return shape
}

// checkCheckpoint returns an error if the checkpoint's tensors are not those that its encoder needs with head
// behind it; see checkTensors. The tensors of a late expert's head, and a reader's on a base that is none, come
// from the delta and are not looked for.
func (t *tower) checkCheckpoint(head bert.Head) error {
	if err := t.prefixProblem(); err != nil {
		return err
	}
	names := t.config.Names(head.Pooling == models.PoolingPooler)
	if head.Reader && t.isReader() { // and no base of one
		names = append(names, bert.ReaderNames(t.config.Dimension, head.Selects)...)
	}
	if head.Rerank != "" {
		names = append(names, bert.RerankerNames(t.config.Dimension)...)
	}
	if head.Sparse {
		names = append(names, bert.SparseNames(t.config)...)
	}
	var wanted []wantedTensor
	for _, want := range names {
		if want.Name != tokenTypes || !t.family.typeless {
			wanted = append(wanted, wantedTensor{t.name(want.Name), t.shape(want.Name, want.Shape)})
		}
	}
	return checkTensors(t.dir, t.set, wanted, t.isUnused)
}

// isUnused reports whether a tensor, by its name in the checkpoint, belongs to a BERT checkpoint without having a
// part in its vectors: the constants 0…n-1 that old releases saved, a pooler that is not used, the heads of
// pre-training.
func (t *tower) isUnused(name string) bool {
	if t.body == taskPrefix && strings.HasPrefix(name, "cls.") {
		return true
	}
	if t.body == "distilbert." && strings.HasPrefix(name, "vocab_") {
		return true
	}
	plain, ok := strings.CutPrefix(name, t.body)
	return ok &&
		(plain == "embeddings.position_ids" || plain == "embeddings.token_type_ids" || strings.HasPrefix(plain, "pooler.dense."))
}
