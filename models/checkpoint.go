package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"conclave/models/bert"
	"go.yaml.in/yaml/v3"
)

// checkpoint is what the small files of a published checkpoint say.
type checkpoint struct {
	dir     string
	config  bert.Config
	dpr     bool
	licence string
	// Of sentence-transformers; empty where the checkpoint is a plain one.
	pooling   string
	normalise bool
	maxTokens int
}

// hfConfig is the part of config.json that decides about vectors. Other keys
// are about training or generation.
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
}

func readCheckpoint(dir string) (*checkpoint, error) {
	c := &checkpoint{dir: dir}
	path := filepath.Join(dir, "config.json")
	var h hfConfig
	if err := readJSON(path, &h); err != nil {
		return nil, err
	}
	if h.ModelType != "bert" && h.ModelType != "dpr" {
		return nil, fmt.Errorf("%s: model_type is %q; bert and dpr are imported (another encoder can be exported to ONNX first)", path, h.ModelType)
	}
	if h.PositionType != nil && *h.PositionType != "absolute" {
		return nil, fmt.Errorf("%s: position_embedding_type is %q; only absolute is supported", path, *h.PositionType)
	}
	if h.IsDecoder {
		return nil, fmt.Errorf("%s: is_decoder is true; only encoders are imported", path)
	}
	c.dpr = h.ModelType == "dpr"
	c.config = bert.Config{
		Vocabulary: h.Vocabulary, Dimension: h.Hidden, Layers: h.Layers, Heads: h.Heads,
		Intermediate: h.Intermediate, Positions: h.Positions, Projection: h.Projection,
		TokenTypes: value(h.TokenTypes, 2), Activation: value(h.Activation, "gelu"), LayerNormEps: float32(value(h.Epsilon, 1e-12)),
	}
	if err := c.config.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c.licence = readLicence(filepath.Join(dir, "README.md"))
	return c, c.readSentenceTransformers()
}

// readSentenceTransformers reads how sentence-transformers would use the
// encoder, where the checkpoint is of that kind.
func (c *checkpoint) readSentenceTransformers() error {
	var modules []struct {
		Type string `json:"type"`
		Path string `json:"path"`
	}
	path := filepath.Join(c.dir, "modules.json")
	switch err := readJSON(path, &modules); {
	case errors.Is(err, os.ErrNotExist):
		if c.pooling, err = readPooling(filepath.Join(c.dir, "1_Pooling", "config.json")); errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	case err != nil:
		return err
	}
	for _, module := range modules {
		switch kind := module.Type[strings.LastIndexByte(module.Type, '.')+1:]; kind {
		case "Transformer":
		case "Pooling":
			if !filepath.IsLocal(module.Path) {
				return fmt.Errorf("%s: path %q lies outside the checkpoint", path, module.Path)
			}
			var err error
			if c.pooling, err = readPooling(filepath.Join(c.dir, module.Path, "config.json")); err != nil {
				return err
			}
		case "Normalize":
			c.normalise = true
		default:
			return fmt.Errorf("%s: the module %q is not supported; Transformer, Pooling and Normalize are", path, module.Type)
		}
	}
	var limits struct {
		Max *int `json:"max_seq_length"`
	}
	if err := readJSON(filepath.Join(c.dir, "sentence_bert_config.json"), &limits); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	c.maxTokens = value(limits.Max, 0)
	var prompts struct {
		Default *string           `json:"default_prompt_name"`
		Prompts map[string]string `json:"prompts"`
	}
	path = filepath.Join(c.dir, "config_sentence_transformers.json")
	if err := readJSON(path, &prompts); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if prompts.Default != nil && prompts.Prompts[*prompts.Default] != "" {
		return fmt.Errorf("%s: the model puts the prompt %q before every text, which bundles cannot say", path, prompts.Prompts[*prompts.Default])
	}
	return nil
}

// readPooling reads a sentence-transformers Pooling module.
func readPooling(path string) (string, error) {
	var modes map[string]any
	if err := readJSON(path, &modes); err != nil {
		return "", err
	}
	var on []string
	for key, v := range modes {
		if mode, ok := strings.CutPrefix(key, "pooling_mode_"); ok && v == true {
			on = append(on, mode)
		}
	}
	if mode, ok := modes["pooling_mode"].(string); ok { // newer releases
		on = []string{mode}
	}
	if len(on) == 1 {
		switch on[0] {
		case "cls_token", "cls":
			return PoolingCLS, nil
		case "mean_tokens", "mean":
			return PoolingMean, nil
		}
	}
	return "", fmt.Errorf("%s: pooling %q is not supported; cls and mean, one of them, are", path, on)
}

var licencePattern = regexp.MustCompile(`(?s)^---\r?\n(.*?)\r?\n---`)

// readLicence takes the licence from the front matter of a model card, if
// there is one.
func readLicence(path string) string {
	data, err := os.ReadFile(path)
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

func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func value[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}
