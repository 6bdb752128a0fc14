package e5s

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// The texts that multilingual-e5-small reads before questions and passages.
const (
	QuestionPrefix = "query: "
	PassagePrefix  = "passage: "
)

// WriteCheckpoint writes the model into a folder, which exists, as a checkpoint of sentence-transformers: weights
// in full precision (.5 GB), a tokenizer, and the settings that the model was published with. Files of the same
// names are replaced. After an error, or once ctx has ended, some files may be there or cut short.
func (m *Model) WriteCheckpoint(ctx context.Context, folder string) error {
	tokenizer, err := m.tokenizer()
	if err != nil {
		return err
	}
	prompts := map[string]any{
		"prompts": map[string]string{"query": QuestionPrefix, "passage": PassagePrefix},
	}
	for name, value := range map[string]any{
		"config.json": map[string]any{
			"model_type": "bert", "architectures": []string{"BertModel"}, "hidden_act": "gelu",
			"hidden_size": m.Dimension, "num_hidden_layers": m.Layers, "num_attention_heads": m.Heads,
			"intermediate_size": m.Inner, "vocab_size": m.Vocabulary, "max_position_embeddings": m.Positions,
			"type_vocab_size": m.TokenTypes, "layer_norm_eps": m.Epsilon, "pad_token_id": m.Padding,
		},
		"tokenizer.json":                    tokenizer,
		"config_sentence_transformers.json": prompts,
		"modules.json": []map[string]any{
			{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
			{"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
			{"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
		},
		"1_Pooling/config.json": map[string]any{
			"word_embedding_dimension": m.Dimension, "pooling_mode_mean_tokens": true,
			"pooling_mode_cls_token": false, "pooling_mode_max_tokens": false,
		},
	} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		data, err := json.Marshal(value)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	file, err := os.Create(filepath.Join(folder, "model.safetensors"))
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(file, 1<<20)
	err = m.writeWeights(ctx, buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

// named is a tensor of the checkpoint: its name there and here, and its shape.
type named struct {
	name, own string
	shape     []int
}

// weights returns the tensors of the checkpoint in the order in which they are written: for each its name in the
// checkpoint, its name in the model's file, and its shape.
func (m *Model) weights() []named {
	d, inner := m.Dimension, m.Inner
	all := []named{
		{"embeddings.word_embeddings.weight", "emb.word", []int{m.Vocabulary, d}},
		{"embeddings.position_embeddings.weight", "emb.pos", []int{m.Positions, d}},
		{"embeddings.token_type_embeddings.weight", "emb.type", []int{m.TokenTypes, d}},
		{"embeddings.LayerNorm.weight", "emb.ln.w", []int{d}},
		{"embeddings.LayerNorm.bias", "emb.ln.b", []int{d}},
	}
	for layer := range m.Layers {
		at, own := fmt.Sprintf("encoder.layer.%d.", layer), fmt.Sprintf("l%d.", layer)
		linear := func(name, short string, to, from int) {
			all = append(all,
				named{at + name + ".weight", own + short + ".w", []int{to, from}},
				named{at + name + ".bias", own + short + ".b", []int{to}})
		}
		normal := func(name, short string) {
			all = append(all,
				named{at + name + ".weight", own + short + ".w", []int{d}},
				named{at + name + ".bias", own + short + ".b", []int{d}})
		}
		linear("attention.self.query", "q", d, d)
		linear("attention.self.key", "k", d, d)
		linear("attention.self.value", "v", d, d)
		linear("attention.output.dense", "ao", d, d)
		normal("attention.output.LayerNorm", "aln")
		linear("intermediate.dense", "fi", inner, d)
		linear("output.dense", "fo", d, inner)
		normal("output.LayerNorm", "oln")
	}
	return all
}

// writeWeights writes all tensors in the format safetensors, one after the other, so that one at a time is in
// memory. It fails if a tensor is missing and once ctx has ended, with a part written.
func (m *Model) writeWeights(ctx context.Context, w io.Writer) error {
	header := map[string]any{}
	begin := 0
	for _, t := range m.weights() {
		end := begin + 4*product(t.shape)
		header[t.name] = map[string]any{"dtype": "F32", "shape": t.shape, "data_offsets": []int{begin, end}}
		begin = end
	}
	head, err := json.Marshal(header)
	if err != nil {
		return err
	}
	for len(head)%8 != 0 {
		head = append(head, ' ')
	}
	if err := binary.Write(w, binary.LittleEndian, uint64(len(head))); err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	for _, t := range m.weights() {
		if err := ctx.Err(); err != nil {
			return err
		}
		values, err := m.Tensor(t.own, product(t.shape))
		if err != nil {
			return err
		}
		if err := writeFloats(w, values); err != nil {
			return err
		}
	}
	return nil
}

// writeFloats writes numbers as little-endian float32. It fails if writing does.
func writeFloats(w io.Writer, values []float32) error {
	buffer := make([]byte, 0, 1<<14)
	for i, v := range values {
		buffer = binary.LittleEndian.AppendUint32(buffer, math.Float32bits(v))
		if len(buffer) == cap(buffer) || i == len(values)-1 {
			if _, err := w.Write(buffer); err != nil {
				return err
			}
			buffer = buffer[:0]
		}
	}
	return nil
}

// product returns the number of elements of a tensor of this shape; 1 for no axes.
func product(shape []int) int {
	n := 1
	for _, size := range shape {
		n *= size
	}
	return n
}

// tokenizer returns the content of the model's tokenizer.json: XLM-RoBERTa's, with the model's map of characters and
// its pieces. It fails if the map of characters is too large for the format (charsmap).
func (m *Model) tokenizer() (map[string]any, error) {
	charsmap, err := m.charsmap()
	if err != nil {
		return nil, err
	}
	vocabulary := make([][2]any, len(m.Pieces))
	for i, piece := range m.Pieces {
		vocabulary[i] = [2]any{piece, m.Scores[i]}
	}
	special := []map[string]any{}
	for id, piece := range m.Pieces {
		if m.isSpecial(id) {
			special = append(special, map[string]any{
				"id": id, "content": piece, "special": true,
				"single_word": false, "lstrip": piece == "<mask>", "rstrip": false, "normalized": false,
			})
		}
	}
	token := func(id int) map[string]any {
		return map[string]any{"SpecialToken": map[string]any{"id": m.Pieces[id], "type_id": 0}}
	}
	sequence := func(name string) map[string]any {
		return map[string]any{"Sequence": map[string]any{"id": name, "type_id": 0}}
	}
	ids := func(id int) map[string]any {
		return map[string]any{"id": m.Pieces[id], "ids": []int{id}, "tokens": []string{m.Pieces[id]}}
	}
	metaspace := map[string]any{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}
	return map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": special,
		"normalizer": map[string]any{"type": "Sequence", "normalizers": []map[string]any{
			{"type": "Precompiled", "precompiled_charsmap": base64.StdEncoding.EncodeToString(charsmap)},
			{"type": "Replace", "pattern": map[string]any{"Regex": " {2,}"}, "content": " "},
		}},
		"pre_tokenizer": metaspace,
		"post_processor": map[string]any{
			"type":           "TemplateProcessing",
			"single":         []any{token(m.Start), sequence("A"), token(m.End)},
			"pair":           []any{token(m.Start), sequence("A"), token(m.End), token(m.End), sequence("B"), token(m.End)},
			"special_tokens": map[string]any{m.Pieces[m.Start]: ids(m.Start), m.Pieces[m.End]: ids(m.End)},
		},
		"decoder": metaspace,
		"model":   map[string]any{"type": "Unigram", "unk_id": m.Unknown, "vocab": vocabulary},
	}, nil
}

// isSpecial reports whether the piece with this id is one that no text becomes: start, end, padding, unknown, or a
// last piece that begins with "<", such as <mask>.
func (m *Model) isSpecial(id int) bool {
	return id == m.Start || id == m.End || id == m.Padding || id == m.Unknown ||
		id == len(m.Pieces)-1 && strings.HasPrefix(m.Pieces[id], "<")
}
