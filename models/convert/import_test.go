package convert_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/models/convert/tiny"
)

func checkpoint(tb testing.TB, o tiny.Expert, form checkpointForm) string {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "checkpoint")
	if err := writeCheckpoint(dir, o, form); err != nil {
		tb.Fatal(err)
	}
	return dir
}

func imported(tb testing.TB, dir string, o convert.Options) *models.Bundle {
	tb.Helper()
	out := filepath.Join(tb.TempDir(), "bundle")
	if _, err := convert.Import(context.Background(), dir, out, o); err != nil {
		tb.Fatal(err)
	}
	b, err := models.Load(out)
	if err != nil {
		tb.Fatal(err)
	}
	if err := b.Check(); err != nil {
		tb.Error(err)
	}
	return b
}

// TestImportFindsTheTensors imports the same weights under all the names they
// come by; the graph must be that of weights that were never in a file.
func TestImportFindsTheTensors(t *testing.T) {
	plain := tiny.Expert{Seed: 3}
	mean := write(t, plain).Manifest.Files["encoder.onnx"]
	cls := write(t, tiny.Expert{Seed: 3, Pooling: models.PoolingCLS, RawLength: true}).Manifest.Files["encoder.onnx"]
	old := func(all []convert.Tensor) []convert.Tensor {
		for i := range all {
			all[i].Name = strings.NewReplacer("LayerNorm.weight", "LayerNorm.gamma", "LayerNorm.bias", "LayerNorm.beta").
				Replace(all[i].Name)
		}
		return append(all,
			convert.Tensor{Name: "bert.embeddings.position_ids", Type: "I64", Shape: []int{1}, Raw: make([]byte, 8)},
			convert.Tensor{Name: "bert.pooler.dense.bias", Type: "F32", Shape: []int{1}, Raw: make([]byte, 4)},
			convert.Tensor{Name: "cls.predictions.bias", Type: "F32", Shape: []int{1}, Raw: make([]byte, 4)})
	}
	for name, c := range map[string]struct {
		form checkpointForm
		o    convert.Options
		want string
	}{
		"plain":            {checkpointForm{}, convert.Options{}, mean},
		"task model, old":  {checkpointForm{Prefix: "bert.", Change: old}, convert.Options{}, mean},
		"pooling override": {checkpointForm{}, convert.Options{Pooling: models.PoolingCLS, Normalise: new(bool)}, cls},
	} {
		b := imported(t, checkpoint(t, plain, c.form), c.o)
		if got := b.Manifest.Files["encoder.onnx"]; got != c.want {
			t.Errorf("%s: another graph than from the weights themselves", name)
		}
	}
}

func TestImportDPR(t *testing.T) {
	o := tiny.Expert{Seed: 4, TwoTowers: true, Pooling: models.PoolingCLS, RawLength: true, Projection: 16}
	want := write(t, o)
	question := checkpoint(t, o, checkpointForm{Prefix: "question_encoder.bert_model."})
	passage := checkpoint(t, o, checkpointForm{Prefix: "ctx_encoder.bert_model."})
	m := imported(t, question, convert.Options{PassageDir: passage}).Manifest
	for _, file := range []string{"question.onnx", "passage.onnx"} {
		if m.Files[file] != want.Manifest.Files[file] {
			t.Errorf("%s differs from the weights' own", file)
		}
	}
	if m.Vectors.Template != models.TemplatePair || m.Dimension() != 16 || m.Vectors.MaxTokens.Question != 256 ||
		m.Vectors.Pooling != models.PoolingCLS ||
		m.Vectors.Normalise {
		t.Errorf("%+v", m)
	}
	if _, err := convert.Import(context.Background(), question, filepath.Join(t.TempDir(), "x"),
		convert.Options{PassageDir: question}); err == nil ||
		!strings.Contains(err.Error(), "no passage encoder") {
		t.Errorf("twice the question encoder: %v", err)
	}
	for dir, want := range map[string]string{question: "no passage encoder", passage: "no question encoder"} {
		if _, err := convert.Import(context.Background(), dir, filepath.Join(t.TempDir(), "x"),
			convert.Options{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("one tower alone: %v, want something with %q", err, want)
		}
	}
	other := checkpoint(
		t,
		tiny.Expert{Vocabulary: append(tiny.Vocabulary(), "zebra"), Projection: 16},
		checkpointForm{Prefix: "ctx_encoder.bert_model."},
	)
	if _, err := convert.Import(context.Background(), question, filepath.Join(t.TempDir(), "x"),
		convert.Options{PassageDir: other}); err == nil ||
		!strings.Contains(err.Error(), "different tokenizers") {
		t.Errorf("two vocabularies: %v", err)
	}
}

func TestImportReadsShortTypes(t *testing.T) {
	full := imported(t, checkpoint(t, tiny.Expert{}, checkpointForm{}), convert.Options{}).Manifest.Files["encoder.onnx"]
	for _, kind := range []string{"F16", "BF16"} {
		b := imported(t, checkpoint(t, tiny.Expert{}, checkpointForm{Type: kind}), convert.Options{})
		if b.Manifest.Files["encoder.onnx"] == full {
			t.Errorf("%s gave the graph of float32", kind)
		}
	}
}

func TestImportErrorsNameTheTensor(t *testing.T) {
	at := func(all []convert.Tensor, name string) int {
		return slices.IndexFunc(all, func(x convert.Tensor) bool { return x.Name == name })
	}
	const victim = "encoder.layer.1.attention.self.key.weight"
	for want, change := range map[string]func([]convert.Tensor) []convert.Tensor{
		`"` + victim + `" is missing`: func(all []convert.Tensor) []convert.Tensor {
			return slices.Delete(all, at(all, victim), at(all, victim)+1)
		},
		`"` + victim + `" has shape [16 64], and [32 32] by config.json`: func(all []convert.Tensor) []convert.Tensor {
			all[at(all, victim)].Shape = []int{16, 64}
			return all
		},
		`"` + victim + `" has type I32; F32, F16 and BF16 are read`: func(all []convert.Tensor) []convert.Tensor {
			all[at(all, victim)].Type = "I32"
			return all
		},
		`"` + victim + `" has the value NaN at element 1`: func(all []convert.Tensor) []convert.Tensor {
			copy(all[at(all, victim)].Raw[4:], []byte{0, 0, 0xc0, 0x7f})
			return all
		},
		`"encoder.layer.2.output.dense.bias" is unexpected`: func(all []convert.Tensor) []convert.Tensor {
			return append(all, convert.Tensor{Name: "encoder.layer.2.output.dense.bias", Type: "F32", Shape: []int{0}})
		},
		`"classifier.weight" is unexpected`: func(all []convert.Tensor) []convert.Tensor {
			return append(all, convert.Tensor{Name: "classifier.weight", Type: "F32", Shape: []int{0}})
		},
	} {
		refuse(t, checkpoint(t, tiny.Expert{}, checkpointForm{Change: change}), convert.Options{}, want)
	}
	refuse(
		t,
		checkpoint(t, tiny.Expert{}, checkpointForm{}),
		convert.Options{Pooling: models.PoolingPooler},
		`"pooler.dense.weight" is missing`,
	)
}

// refuse imports and expects an error, and nothing on disk.
func refuse(t *testing.T, dir string, o convert.Options, want string) {
	t.Helper()
	parent := t.TempDir()
	_, err := convert.Import(context.Background(), dir, filepath.Join(parent, "bundle"), o)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want an error with %q, have %v", want, err)
	}
	if left, _ := os.ReadDir(parent); len(left) > 0 {
		t.Errorf("%q left %v behind", want, left)
	}
}

func TestImportErrorsOfConfiguration(t *testing.T) {
	for want, change := range map[string]func(map[string]any){
		"model_type":              func(c map[string]any) { c["model_type"] = "electra" },
		"hidden_act":              func(c map[string]any) { c["hidden_act"] = "swish" },
		"position_embedding_type": func(c map[string]any) { c["position_embedding_type"] = "relative_key" },
		"is_decoder":              func(c map[string]any) { c["is_decoder"] = true },
		"num_attention_heads":     func(c map[string]any) { c["num_attention_heads"] = 5 },
		"num_hidden_layers":       func(c map[string]any) { c["num_hidden_layers"] = 1 << 40 },
		"word piece":              func(c map[string]any) { c["vocab_size"] = 20 },
		"hidden_size":             func(c map[string]any) { c["hidden_size"] = -1 },
		"layer_norm_eps":          func(c map[string]any) { c["layer_norm_eps"] = 2 },
		"cannot unmarshal":        func(c map[string]any) { c["vocab_size"] = "many" },
	} {
		refuse(t, checkpoint(t, tiny.Expert{}, checkpointForm{Config: change}), convert.Options{}, want)
	}
	for want, change := range map[string]func(dir string) error{
		"config.json": func(dir string) error { return os.Remove(filepath.Join(dir, "config.json")) },
		"model.safetensors": func(dir string) error {
			return os.Remove(filepath.Join(dir,
				"model.safetensors"))
		},
		"neither tokenizer.json nor voca": func(dir string) error { return os.Remove(filepath.Join(dir, "vocab.txt")) },
		"no word piece [SEP]": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "vocab.txt"), []byte("[PAD]\n[UNK]\n[CLS]\n"), 0o644)
		},
		"byte-pair tokenizer": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte(`{"model":{"type":"BPE"}}`), 0o644)
		},
		"is not supported": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "1_Pooling", "config.json"), []byte(`{"pooling_mode_max_tokens":true}`),
				0o644)
		},
		"sentence_transformers.models.Dense": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "modules.json"), []byte(`[{"type":"sentence_transformers.models.Dense"}]`),
				0o644)
		},
		"default_prompt_name is": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "config_sentence_transformers.json"), []byte(`{"default_prompt_name":"q","prompts":{"p":"query: "}}`), 0o644)
		},
		"similarity_fn_name": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "config_sentence_transformers.json"), []byte(`{"similarity_fn_name":"euclidean"}`), 0o644)
		},
		"strip_accents": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "tokenizer_config.json"), []byte(`{"do_lower_case":true,"strip_accents":false}`), 0o644)
		},
		"cut short": func(dir string) error { return os.Truncate(filepath.Join(dir, "model.safetensors"), 100) },
	} {
		dir := checkpoint(t, tiny.Expert{}, checkpointForm{})
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		refuse(t, dir, convert.Options{}, want)
	}
	long := convert.Options{MaxTokens: models.MaxTokens{Passage: 1000}}
	refuse(t, checkpoint(t, tiny.Expert{}, checkpointForm{}), long, "512 positions")
}

func TestImportIsDeterministic(t *testing.T) {
	dir := checkpoint(t, tiny.Expert{}, checkpointForm{})
	for _, int8 := range []bool{false, true} {
		o := convert.Options{Name: "same", Int8: int8}
		a := imported(t, dir, o)
		if b := imported(t, dir, o); !sameFiles(t, a.Dir, b.Dir) {
			t.Errorf("int8 %t: the same checkpoint gave other bytes", int8)
		}
		if want := map[bool]string{false: "fp32", true: "int8"}[int8]; a.Manifest.Precision != want {
			t.Errorf("precision %q, not %q", a.Manifest.Precision, want)
		}
	}
}

// endingAfter is a context that ends when it has been looked at so many times:
// an import looks at it before each tensor.
type endingAfter struct {
	context.Context
	looks int
}

func (c *endingAfter) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

func TestInterruptedImportLeavesNothing(t *testing.T) {
	dir := checkpoint(t, tiny.Expert{}, checkpointForm{})
	parent := t.TempDir()
	for _, looks := range []int{0, 1, 20, 36} {
		_, err := convert.Import(
			&endingAfter{context.Background(), looks}, dir, filepath.Join(parent, "bundle"), convert.Options{},
		)
		if left, _ := os.ReadDir(parent); !errors.Is(err, context.Canceled) || len(left) > 0 {
			t.Errorf("after %d tensors: %v, left behind %v", looks, err, left)
		}
	}
}

func TestCardAndLineage(t *testing.T) {
	dir := checkpoint(t, tiny.Expert{}, checkpointForm{})
	if err := os.WriteFile(filepath.Join(dir, "README.md"),
		[]byte("---\nlanguage: en\nlicense: apache-2.0\n---\n# Model\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b := imported(t, dir, convert.Options{Name: "general"})
	m := b.Manifest
	if m.Name != "general" || m.Lineage.Licence != "apache-2.0" || m.Lineage.Source != "checkpoint" ||
		m.Vectors.Pooling != models.PoolingMean ||
		!m.Vectors.Normalise ||
		!m.LowerCase {
		t.Errorf("%+v", m)
	}
	card, err := os.ReadFile(b.Path(models.CardFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# general", "apache-2.0", "checkpoint", m.Lineage.SourceSHA256, "32 numbers", "mean", "64, 256 tokens"} {
		if !strings.Contains(string(card), want) {
			t.Errorf("CARD.md does not say %q:\n%s", want, card)
		}
	}
}
