package convert_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/models"
	"example.org/conclave/models/convert"
)

// t5Folder returns a copy of a tiny T5 of encoder/testdata/fid, with changes to its
// config.json, and a tokenizer.json that Import only copies.
func t5Folder(t *testing.T, name string, changes map[string]any) string {
	t.Helper()
	from := filepath.Join("..", "..", "encoder", "testdata", "fid", name)
	dir := t.TempDir()
	weights, err := os.ReadFile(filepath.Join(from, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	data, err := os.ReadFile(filepath.Join(from, "config.json"))
	if err == nil {
		err = json.Unmarshal(data, &config)
	}
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range changes {
		config[key] = value
	}
	data, err = json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string][]byte{"config.json": data, "model.safetensors": weights, "tokenizer.json": []byte("{}")} {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestImportT5(t *testing.T) {
	out := filepath.Join(t.TempDir(), "Mine")
	var sums []string
	for range 2 {
		b, err := convert.Import(
			t.Context(), t5Folder(t, "fid", nil), out, convert.Options{Beams: 3, Licence: "Apache-2.0"},
		)
		if err != nil {
			t.Fatal(err)
		}
		g := models.Generator{
			Encoder:       "encoder.onnx",
			Decoder:       "decoder.onnx",
			Layers:        2,
			Heads:         2,
			HeadSize:      16,
			Vocabulary:    400,
			PassageTokens: 250,
			Beams:         3,
		}
		if m := b.Manifest; m.Kind != models.KindGenerator || m.Name != "mine" || *m.Generator != g ||
			m.Generator.CrossBytes(10) != 10*2*2*2*16*4 {
			t.Errorf("%+v, %+v", m, m.Generator)
		}
		if found := convert.Verify(out); !found.Fine {
			t.Errorf("%+v", found)
		}
		sums = append(sums, b.Fingerprint(models.Passage))
	}
	if sums[0] != sums[1] || len(sums[0]) != 64 {
		t.Errorf("the fingerprints of two imports: %v", sums)
	}
	other, err := convert.Import(t.Context(), t5Folder(t, "fid", nil), out, convert.Options{})
	if err != nil || other.Fingerprint(models.Question) == sums[0] {
		t.Errorf("a bundle with other beams has the same fingerprint, %v", err)
	}
	card, err := os.ReadFile(filepath.Join(out, models.CardFile))
	if err != nil || !strings.Contains(string(card), "Fusion-in-Decoder") || strings.Contains(string(card), "vectors") {
		t.Errorf("%s, %v", card, err)
	}
}

// TestImportT5CutAsTrained: what conclave-train wrote beside the T5's own keys says where texts are cut, unless
// somebody says so.
func TestImportT5CutAsTrained(t *testing.T) {
	trained := map[string]any{"passage_tokens": 96}
	for _, c := range []struct {
		changes map[string]any
		said    int
		want    int
	}{{nil, 0, 250}, {trained, 0, 96}, {trained, 48, 48}} {
		b, err := convert.Import(
			t.Context(),
			t5Folder(t, "plain", c.changes),
			filepath.Join(t.TempDir(), "mine"),
			convert.Options{MaxTokens: models.MaxTokens{Passage: c.said}},
		)
		if err != nil || b.Manifest.Generator.PassageTokens != c.want {
			t.Errorf("%v and %d: %v, not %d", c.changes, c.said, err, c.want)
		}
	}
}

func TestImportT5Refuses(t *testing.T) {
	yes := true
	for _, c := range []struct {
		name, want string
		changes    map[string]any
		options    convert.Options
	}{
		{"plain", `"encoder.block.0.layer.1.DenseReluDense.wi.weight" has shape [64 32], and [65 32]`,
			map[string]any{"d_ff": 65}, convert.Options{}},
		{"plain", `"encoder.block.2.layer.0.SelfAttention.q.weight" is missing`, map[string]any{"num_layers": 3},
			convert.Options{}},
		{"plain", `"decoder.block.1.layer.0.SelfAttention.k.weight" is unexpected`, map[string]any{"num_decoder_layers": 1},
			convert.Options{}},
		{"plain", `DenseReluDense.wi_0.weight" is missing`, map[string]any{"feed_forward_proj": "gated-gelu"},
			convert.Options{}},
		{"fid", `"encoder.encoder.block.3.module.layer.0.layer_norm.weight" is missing`, map[string]any{"num_layers": 4},
			convert.Options{}},
		{"plain", `feed_forward_proj is "swish"`, map[string]any{"feed_forward_proj": "swish"}, convert.Options{}},
		{"plain", "num_heads is 0", map[string]any{"num_heads": 0}, convert.Options{}},
		{"plain", "start", map[string]any{"decoder_start_token_id": 400}, convert.Options{}},
		{"plain", "beams", nil, convert.Options{Beams: 65}},
		{"plain", "the unit length cannot be chosen", nil, convert.Options{Normalise: &yes}},
	} {
		out := filepath.Join(t.TempDir(), "mine")
		if _, err := convert.Import(t.Context(), t5Folder(t, c.name, c.changes), out, c.options); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: a bundle is left", c.want)
		}
	}
	dir := t5Folder(t, "plain", nil)
	if err := os.Remove(filepath.Join(dir, "tokenizer.json")); err != nil {
		t.Fatal(err)
	}
	_, err := convert.Import(t.Context(), dir, filepath.Join(t.TempDir(), "mine"), convert.Options{})
	if !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "tokenizer.json") {
		t.Errorf("without a tokenizer: %v", err)
	}
}
