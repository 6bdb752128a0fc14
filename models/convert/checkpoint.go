package convert

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"example.org/conclave/internal/disk"
	"example.org/conclave/models"
	"example.org/conclave/models/convert/bert"

	"go.yaml.in/yaml/v3"
)

// checkpoint is the content of the small files of a published checkpoint.
type checkpoint struct {
	dir       string
	modelType string
	// nil for an exported model
	family *family
	config bert.Config
	// row of the first token in the table of positions
	firstPosition int
	labels        int // of a classifier; 0: config.json does not say
	dpr           bool
	licence       string
	architectures []string // as config.json names them
	// Of sentence-transformers; empty and nil where the checkpoint does not say.
	pooling   string
	normalise *bool
	maxTokens int
	prompts   prompts
	// modules.json describes the encoder
	modules bool
	// config.json says that it is a masked language model
	masked bool
}

// hfConfig is the part of config.json by which vectors are computed. Other keys are about training or generation.
type hfConfig struct {
	ModelType    string   `json:"model_type"`
	Vocabulary   int      `json:"vocab_size"`
	Hidden       int      `json:"hidden_size"`
	Layers       int      `json:"num_hidden_layers"`
	Heads        int      `json:"num_attention_heads"`
	Intermediate int      `json:"intermediate_size"`
	Positions    int      `json:"max_position_embeddings"`
	TokenTypes   *int     `json:"type_vocab_size"`
	Activation   *string  `json:"hidden_act"`
	Epsilon      *float64 `json:"layer_norm_eps"`
	PositionType *string  `json:"position_embedding_type"`
	IsDecoder    bool     `json:"is_decoder"`
	Projection   int      `json:"projection_dim"`
	// DistilBERT's names of some of these.
	DistilHidden       int     `json:"dim"`
	DistilLayers       int     `json:"n_layers"`
	DistilHeads        int     `json:"n_heads"`
	DistilIntermediate int     `json:"hidden_dim"`
	DistilActivation   *string `json:"activation"`
	// Padding is the id of the token that fills rows, behind which some families begin to count
	// positions.
	Padding *int              `json:"pad_token_id"`
	Labels  map[string]string `json:"id2label"`
	// Relative is the number of buckets of relative positions.
	Relative *int `json:"relative_attention_num_buckets"`
	// Architectures are the classes of transformers that the weights are of.
	Architectures []string `json:"architectures"`
}

// readCheckpoint reads the configuration of the checkpoint in dir: config.json, with the defaults of transformers
// for keys that it lacks, the licence and the files of sentence-transformers. Weights and tokenizer are not read.
// It fails for models that cannot be imported and for impossible numbers.
func readCheckpoint(dir string) (*checkpoint, error) {
	c := &checkpoint{dir: dir}
	path := filepath.Join(dir, "config.json")
	var h hfConfig
	if err := readJSON(path, &h); err != nil {
		return nil, err
	}
	f, err := checkFamily(path, h.ModelType)
	if err != nil {
		return nil, err
	}
	c.modelType = h.ModelType
	c.family = f
	if h.PositionType != nil && *h.PositionType != "absolute" {
		return nil, fmt.Errorf("%s: position_embedding_type is %q; only absolute is supported", path, *h.PositionType)
	}
	if h.IsDecoder {
		return nil, fmt.Errorf("%s: is_decoder is true; only encoders are imported", path)
	}
	c.dpr = h.ModelType == "dpr"
	c.architectures = h.Architectures
	c.labels = len(h.Labels)
	c.config = bert.Config{
		Vocabulary: h.Vocabulary, Dimension: cmp.Or(h.Hidden, h.DistilHidden), Layers: cmp.Or(h.Layers, h.DistilLayers),
		Heads: cmp.Or(h.Heads, h.DistilHeads), Intermediate: cmp.Or(h.Intermediate, h.DistilIntermediate),
		Positions: h.Positions, Projection: h.Projection, TokenTypes: valueOr(h.TokenTypes, 2),
		Activation: valueOr(h.Activation, valueOr(h.DistilActivation, "gelu")), LayerNormEps: float32(
			valueOr(h.Epsilon, 1e-12),
		),
	}
	if f.typeless {
		c.config.TokenTypes = 2 // of zeros, so that a reader's types change nothing
	}
	if f.relative {
		c.config.Relative = valueOr(h.Relative, 32)
	}
	if f.padded {
		c.firstPosition = valueOr(h.Padding, 1) + 1
		c.config.Positions -= c.firstPosition
	}
	if err := c.config.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c.licence = readLicence(filepath.Join(dir, "README.md"))
	return c, c.readSentenceTransformers()
}

// describeArchitecture returns the encoder's shape in a few words, for messages and the manifest: "bert, 6 layers
// of 384, 12 heads".
func (c *checkpoint) describeArchitecture() string {
	words := c.config.String()
	if c.modelType == "dpr" || c.modelType == "" {
		return words
	}
	return c.modelType + strings.TrimPrefix(words, "bert")
}

var licencePattern = regexp.MustCompile(`(?s)^---\r?\n(.*?)\r?\n---`)

// readLicence returns the license field in the front matter of the model card at path, or "" if it cannot be read or
// has none.
func readLicence(path string) string {
	data, err := readSmall(path)
	if err != nil {
		return ""
	}
	found := licencePattern.FindSubmatch(data)
	if found == nil {
		return ""
	}
	var front struct {
		Licence string `yaml:"license"`
	}
	if yaml.Unmarshal(found[1], &front) != nil {
		return ""
	}
	return front.Licence
}

// valueOr returns *given, or otherwise if given is nil.
func valueOr[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}

// mostTokenizer is the largest number of bytes of a vocabulary.
const mostTokenizer = 256 << 20

// readSmall reads one of the small files of a checkpoint, whole. It fails with fs.ErrNotExist if there is none, and
// above models.MaxSmallBytes.
func readSmall(path string) ([]byte, error) { return disk.ReadRegular(path, models.MaxSmallBytes) }

// readJSON reads a small JSON file into v; keys that v lacks are ignored. It fails with fs.ErrNotExist if there is no
// file, and if it has more than models.MaxSmallBytes. For bad JSON the error names the file and, where a value has the
// wrong type, the key; v may then be filled in part.
func readJSON(path string, v any) error {
	data, err := readSmall(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
