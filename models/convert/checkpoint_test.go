package convert_test

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/models/convert/bert"
	"example.org/conclave/models/convert/tiny"
)

// checkpointForm chooses the form of a checkpoint.
type checkpointForm struct {
	// Prefix is put before every tensor's name: "", "bert.", or DPR's
	// "question_encoder.bert_model." or "ctx_encoder.bert_model.".
	Prefix string
	// Type is F32 (default), F16 or BF16.
	Type string
	// Change, if set, may change, drop or add tensors before they are written.
	Change func([]convert.Tensor) []convert.Tensor
	// Config, if set, may change config.json.
	Config func(map[string]any)
}

// writeCheckpoint writes the encoder that o chooses as Hugging Face's
// libraries would: config.json, model.safetensors, vocab.txt,
// tokenizer_config.json and, but for DPR, the files of sentence-transformers.
// Importing it gives the graphs of tiny.Write(dir, o), unless they are a late
// expert's, which no checkpoint holds.
func writeCheckpoint(dir string, o tiny.Expert, form checkpointForm) error {
	if o.Vocabulary == nil {
		o.Vocabulary = tiny.Vocabulary()
	}
	o.Pooling = cmp.Or(o.Pooling, models.PoolingMean)
	c := o.Config()
	dpr := strings.Contains(form.Prefix, "_encoder.")
	config := map[string]any{
		"model_type": "bert", "vocab_size": c.Vocabulary, "hidden_size": c.Dimension, "num_hidden_layers": c.Layers,
		"num_attention_heads": c.Heads, "intermediate_size": c.Intermediate, "max_position_embeddings": c.Positions,
		"type_vocab_size": c.TokenTypes, "hidden_act": c.Activation, "layer_norm_eps": float64(c.LayerNormEps),
		"position_embedding_type": "absolute",
	}
	if dpr {
		config["model_type"] = "dpr"
		config["projection_dim"] = c.Projection
	}
	if form.Config != nil {
		form.Config(config)
	}
	files := map[string]any{
		"config.json":           config,
		"tokenizer_config.json": map[string]any{"do_lower_case": true},
	}
	if !dpr {
		modules := []map[string]string{
			{"type": "sentence_transformers.models.Transformer"},
			{"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
		}
		if !o.RawLength {
			modules = append(modules, map[string]string{"type": "sentence_transformers.models.Normalize"})
		}
		if o.Pooling != models.PoolingPooler { // sentence-transformers has no such mode
			files["modules.json"] = modules
			files["1_Pooling/config.json"] = map[string]any{
				"pooling_mode_cls_token":   o.Pooling == models.PoolingCLS,
				"pooling_mode_mean_tokens": o.Pooling == models.PoolingMean,
			}
		}
	}
	for name, content := range files {
		data, err := json.MarshalIndent(content, "", "  ")
		if err != nil {
			return err
		}
		if err := put(dir, name, data); err != nil {
			return err
		}
	}
	if err := put(dir, "vocab.txt", []byte(strings.Join(o.Vocabulary, "\n")+"\n")); err != nil {
		return err
	}
	tensors, err := checkpointTensors(o, c, form)
	if err != nil {
		return err
	}
	if form.Change != nil {
		tensors = form.Change(tensors)
	}
	file, err := os.Create(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		return err
	}
	return errors.Join(convert.WriteTensors(file, nil, tensors), file.Close())
}

func checkpointTensors(o tiny.Expert, c bert.Config, form checkpointForm) ([]convert.Tensor, error) {
	side := models.Question
	if strings.HasPrefix(form.Prefix, "ctx") {
		side = models.Passage
	}
	weights := o.Weights(side)
	var all []convert.Tensor
	for _, named := range c.Names(o.Pooling == models.PoolingPooler) {
		values, err := weights.Tensor(named.Name, named.Shape...)
		if err != nil {
			return nil, err
		}
		name := form.Prefix + named.Name
		if strings.HasPrefix(named.Name, "encode_proj.") {
			name = strings.TrimSuffix(form.Prefix, "bert_model.") + named.Name
		}
		t, err := tensor(name, form.Type, named.Shape, values)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

func tensor(name, kind string, shape []int, values []float32) (convert.Tensor, error) {
	t := convert.Tensor{Name: name, Type: kind, Shape: shape}
	for _, v := range values {
		bits := math.Float32bits(v)
		switch kind {
		case "", "F32":
			t.Type = "F32"
			t.Raw = binary.LittleEndian.AppendUint32(t.Raw, bits)
		case "BF16": // cut, not rounded: what is read back is what counts
			t.Raw = binary.LittleEndian.AppendUint16(t.Raw, uint16(bits>>16))
		case "F16":
			t.Raw = binary.LittleEndian.AppendUint16(t.Raw, half(bits))
		default:
			return t, fmt.Errorf("no type %q", kind)
		}
	}
	return t, nil
}

// half cuts a float32 of moderate size to 16 bits; tiny ones become 0.
func half(bits uint32) uint16 {
	exponent := int(bits>>23&255) - 127 + 15
	if exponent <= 0 {
		return uint16(bits >> 16 & 0x8000)
	}
	return uint16(bits>>16&0x8000) | uint16(exponent)<<10 | uint16(bits>>13&0x3ff)
}

func put(dir, name string, data []byte) error {
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
