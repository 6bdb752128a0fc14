package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/conclave/models/convert/bert"
)

// family is how the checkpoints of a model_type differ from BERT's: the same layers under other names, and another
// first position.
type family struct {
	prefix string // of the encoder's tensors inside a model with a task head
	class  string // what its classes of transformers begin with
	// names turns a BertModel's name of a tensor into the family's; nil: they are the same.
	names *strings.Replacer
	// padded says that the rows of the table of positions up to the one of padding are unused.
	padded bool
	// typeless says that there is no table of token types.
	typeless bool
	// relative says that there are relative positions, too.
	relative bool
	// Of a model that classifies sequences: the two layers behind the first token, and what
	// lies between them. pooled says that the first belongs to the encoder.
	dense, score, activation string
	pooled                   bool
	// masked turns the names of a masked language model's head (bert.SparseNames) into the family's; nil: it is not
	// imported.
	masked *strings.Replacer
}

// robertas is the family of RoBERTa and models like it: BERT's layers, with positions that begin after that of the
// padding.
var robertas = &family{
	prefix: "roberta.", class: "Roberta", padded: true,
	dense: "classifier.dense", score: "classifier.out_proj", activation: bert.RerankTanh,
}

// families has the families whose weights are imported, by model type.
var families = map[string]*family{
	"bert": {
		prefix: taskPrefix, class: "Bert",
		dense: "pooler.dense", pooled: true, score: "classifier", activation: bert.RerankTanh,
		masked: strings.NewReplacer(
			"mlm.dense", "cls.predictions.transform.dense",
			"mlm.norm", "cls.predictions.transform.LayerNorm",
			"mlm.words.weight", "cls.predictions.decoder.weight",
			"mlm.words.bias", "cls.predictions.bias",
		),
	},
	"dpr": {prefix: taskPrefix, class: "DPR"},
	"distilbert": {
		prefix: "distilbert.", class: "DistilBert", typeless: true,
		names: strings.NewReplacer(
			"encoder.layer.", "transformer.layer.",
			"attention.self.query", "attention.q_lin",
			"attention.self.key", "attention.k_lin",
			"attention.self.value", "attention.v_lin",
			"attention.output.dense", "attention.out_lin",
			"attention.output.LayerNorm", "sa_layer_norm",
			"intermediate.dense", "ffn.lin1",
			"output.dense", "ffn.lin2",
			"output.LayerNorm", "output_layer_norm",
		),
		dense: "pre_classifier", score: "classifier", activation: bert.RerankReLU,
		masked: strings.NewReplacer(
			"mlm.dense", "vocab_transform", "mlm.norm", "vocab_layer_norm", "mlm.words", "vocab_projector",
		),
	},
	"mpnet": {
		prefix: "mpnet.", class: "MPNet", padded: true, typeless: true, relative: true,
		names: strings.NewReplacer(
			"attention.self.query", "attention.attn.q",
			"attention.self.key", "attention.attn.k",
			"attention.self.value", "attention.attn.v",
			"attention.output.dense", "attention.attn.o",
			"attention.output.LayerNorm", "attention.LayerNorm",
		),
		dense: "classifier.dense", score: "classifier.out_proj", activation: bert.RerankTanh,
	},
	"roberta":     robertas,
	"xlm-roberta": robertas,
	"camembert":   robertas,
}

// familyNames returns the model types that are imported, sorted, as a list for messages: "a, b and c".
func familyNames() string {
	names := slices.Sorted(maps.Keys(families))
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// checkFamily returns the family of a model type. It fails for other types, and names those that there are; path is for
// the error.
func checkFamily(path, modelType string) (*family, error) {
	if f, ok := families[modelType]; ok {
		return f, nil
	}
	return nil, fmt.Errorf(
		"%s: model_type is %q; %s are imported, and t5 as a generator (another encoder can be exported to ONNX first, where its tokenizer is one of theirs)",
		path, modelType, familyNames(),
	)
}

// tensorName returns the family's name of the BertModel's tensor plain, without a prefix.
func (f *family) tensorName(plain string) string {
	if f.names == nil {
		return plain
	}
	return f.names.Replace(plain)
}

// classifierName returns the family's name of a tensor of a cross-encoder's head, where plain begins with
// bert.RerankerDense or bert.RerankerScore, and body is the prefix of the encoder's tensors.
func (f *family) classifierName(plain, body string) string {
	if tail, ok := strings.CutPrefix(plain, bert.RerankerScore); ok {
		return f.score + tail
	}
	tail := strings.TrimPrefix(plain, bert.RerankerDense)
	if f.pooled {
		return body + f.dense + tail
	}
	return f.dense + tail
}
