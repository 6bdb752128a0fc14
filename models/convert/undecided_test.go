package convert_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/models/convert/onnx"
	"example.org/conclave/models/convert/tiny"

	"golang.org/x/sys/unix"
)

// without removes files of a checkpoint.
func without(t *testing.T, dir string, names ...string) string {
	t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// with writes files into a checkpoint.
func with(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		if err := put(dir, name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestImportDoesNotGuess: what a checkpoint leaves open, and what decides about every vector,
// is an error or is told.
func TestImportDoesNotGuess(t *testing.T) {
	o := tiny.Expert{Seed: 3}
	plain := func() string { return checkpoint(t, o, checkpointForm{}) }
	for name, dir := range map[string]string{
		"without 1_Pooling":                 without(t, plain(), "1_Pooling"),
		"without modules.json":              without(t, plain(), "1_Pooling", "modules.json"),
		"an ONNX with a vector for a token": exported(t, export()),
	} {
		var undecided *convert.UndecidedError
		out := filepath.Join(t.TempDir(), "bundle")
		if _, err := convert.Import(t.Context(), dir, out, convert.Options{}); !errors.As(err, &undecided) ||
			undecided.Setting != models.SettingPooling {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s left a bundle", name)
		}
		m := imported(t, dir, convert.Options{Pooling: models.PoolingMean}).Manifest
		if m.Vectors.Pooling != models.PoolingMean || !m.Vectors.Normalise {
			t.Errorf("%s, mean: pooling %s, unit length %t", name, m.Vectors.Pooling, m.Vectors.Normalise)
		}
	}
	pooled := export()
	pooled.Graph.Outputs = []*onnx.Value{
		onnx.NewValue("sentence_embedding", onnx.Float, onnx.Varying("batch"), onnx.Fixed(4)),
	}
	no := false
	for name, c := range map[string]struct {
		dir        string
		o          convert.Options
		told, unit bool
	}{
		"a lone ONNX":           {exported(t, pooled), convert.Options{}, true, true},
		"a lone ONNX, as asked": {exported(t, pooled), convert.Options{Normalise: &no}, false, false},
		"modules.json without it": {checkpoint(t, tiny.Expert{RawLength: true}, checkpointForm{}),
			convert.Options{}, false, false},
		"modules.json with it":         {plain(), convert.Options{}, false, true},
		"no modules.json":              {without(t, plain(), "modules.json"), convert.Options{}, true, true},
		"no modules.json, dot product": {with(t, without(t, plain(), "modules.json"), map[string]string{"config_sentence_transformers.json": `{"similarity_fn_name":"dot"}`}), convert.Options{}, false, false},
		"compared by the cosine": {with(t, checkpoint(t, tiny.Expert{RawLength: true}, checkpointForm{}), map[string]string{"config_sentence_transformers.json": `{"similarity_fn_name":"cosine"}`}),
			convert.Options{}, false, true},
	} {
		var told []convert.Assumption
		c.o.Tell = func(a convert.Assumption) { told = append(told, a) }
		m := imported(t, c.dir, c.o).Manifest
		if m.Vectors.Normalise != c.unit || (len(told) == 1 && told[0].Setting == models.SettingNormalise) != c.told {
			t.Errorf("%s: unit length %t, told %+v", name, m.Vectors.Normalise, told)
		}
	}
}

// TestImportPrefixes: the prompts of sentence-transformers, and what overrides them. What is
// expected is what its encode_query and encode_document take.
func TestImportPrefixes(t *testing.T) {
	none, query, own := "", "query: ", "own: "
	for name, c := range map[string]struct {
		config string
		o      convert.Options
		want   models.Prefix
		fails  bool
	}{
		"no file":          {"", convert.Options{}, models.Prefix{}, false},
		"arctic":           {`{"prompts":{"query":"Represent this sentence for searching relevant passages: "},"default_prompt_name":null}`, convert.Options{}, models.Prefix{Question: "Represent this sentence for searching relevant passages: "}, false},
		"both":             {`{"prompts":{"query":"q: ","document":"d: ","passage":"p: "}}`, convert.Options{}, models.Prefix{Question: "q: ", Passage: "d: "}, false},
		"passage":          {`{"prompts":{"query":"query: ","passage":"passage: "}}`, convert.Options{}, models.Prefix{Question: "query: ", Passage: "passage: "}, false},
		"a default alone":  {`{"prompts":{"x":"x: "},"default_prompt_name":"x"}`, convert.Options{}, models.Prefix{Question: "x: ", Passage: "x: "}, false},
		"a default beside": {`{"prompts":{"query":"q: ","x":"x: "},"default_prompt_name":"x"}`, convert.Options{}, models.Prefix{Question: "q: ", Passage: "x: "}, false},
		"newer, empty":     {`{"prompts":{"query":"","document":""},"default_prompt_name":null,"similarity_fn_name":"cosine"}`, convert.Options{}, models.Prefix{}, false},
		"others":           {`{"prompts":{"clustering":"c: "}}`, convert.Options{}, models.Prefix{}, true},
		"others, one chosen": {`{"prompts":{"clustering":"c: "}}`, convert.Options{QuestionPrefix: &query},
			models.Prefix{Question: query}, false},
		"others, none chosen": {`{"prompts":{"clustering":"c: "}}`, convert.Options{QuestionPrefix: &none},
			models.Prefix{}, false},
		"overridden": {`{"prompts":{"query":"q: ","document":"d: "}}`,
			convert.Options{QuestionPrefix: &own, PassagePrefix: &none}, models.Prefix{Question: own}, false},
		"E5": {"", convert.Options{QuestionPrefix: &query, PassagePrefix: &own},
			models.Prefix{Question: query, Passage: own}, false},
	} {
		dir := checkpoint(t, tiny.Expert{}, checkpointForm{})
		if c.config != "" {
			with(t, dir, map[string]string{"config_sentence_transformers.json": c.config})
		}
		b, err := convert.Import(t.Context(), dir, filepath.Join(t.TempDir(), "bundle"), c.o)
		if c.fails {
			var undecided *convert.UndecidedError
			if !errors.As(err, &undecided) || undecided.Setting != models.SettingPrefix ||
				!strings.Contains(err.Error(), "clustering") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || b.Manifest.Vectors.Prefix != c.want {
			t.Errorf("%s: %+v, %v", name, b, err)
			continue
		}
		card, err := os.ReadFile(b.Path(models.CardFile))
		if err != nil || c.want.Question != "" && !strings.Contains(string(card), c.want.Question) {
			t.Errorf("%s: %v, %s", name, err, card)
		}
	}
	with := func(q, p string) *models.Bundle {
		return imported(
			t, checkpoint(t, tiny.Expert{}, checkpointForm{}), convert.Options{QuestionPrefix: &q, PassagePrefix: &p},
		)
	}
	a, b, c := with("", ""), with("q: ", ""), with("q: ", "p: ")
	if before := write(t, tiny.Expert{}); a.Fingerprint(models.Passage) != before.Fingerprint(models.Passage) {
		t.Error("an encoder without a prefix has another fingerprint than before there were any")
	}
	if a.Fingerprint(models.Question) == b.Fingerprint(models.Question) ||
		a.Fingerprint(models.Passage) != b.Fingerprint(models.Passage) ||
		b.Fingerprint(models.Passage) == c.Fingerprint(models.Passage) {
		t.Error("the fingerprints of a side are not those of its prefix")
	}
}

// TestImportSaysWhatItIs: checkpoints of other kinds are refused by what they are.
func TestImportSaysWhatItIs(t *testing.T) {
	class := func(name string) checkpointForm {
		return checkpointForm{Config: func(c map[string]any) { c["architectures"] = []string{name} }}
	}
	bare := func(form checkpointForm, files map[string]string) string {
		return with(t, without(t, checkpoint(t, tiny.Expert{}, form), "modules.json", "1_Pooling"), files)
	}
	logits := func(name string, dims ...onnx.Dim) string {
		m := export()
		m.Graph.Outputs = []*onnx.Value{onnx.NewValue(name, onnx.Float, dims...)}
		return exported(t, m)
	}
	mlm := func(all []convert.Tensor) []convert.Tensor {
		return append(all, convert.Tensor{Name: "cls.predictions.bias", Type: "F32", Shape: []int{1}, Raw: make([]byte, 4)})
	}
	unigram, err := json.Marshal(
		map[string]any{"model": map[string]any{"type": "Unigram", "unk_id": 0, "vocab": [][]any{{"<unk>", 0}, {"▁a", -1.5}}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	for want, dir := range map[string]string{
		"SPLADE":                     bare(class("BertForMaskedLM"), nil),
		"masked language model":      bare(checkpointForm{Prefix: "bert.", Change: mlm}, nil),
		"a sparse encoder":           bare(checkpointForm{}, map[string]string{"modules.json": `[{"type":"sentence_transformers.sparse_encoder.models.MLMTransformer"}]`}),
		"encoder (SPLADE, a ":        bare(checkpointForm{}, map[string]string{"modules.json": `[{"type":"sentence_transformers.models.Transformer"},{"type":"x.SpladePooling","path":"1_Pooling"}]`}),
		"cross-encoder":              bare(class("BertForSequenceClassification"), nil),
		"labels words":               bare(class("BertForTokenClassification"), nil),
		"ColBERT":                    bare(class("HF_ColBERT"), nil),
		"BertForSomethingElse":       bare(class("BertForSomethingElse"), nil),
		"a Unigram (SentencePiece)":  bare(checkpointForm{}, map[string]string{"tokenizer.json": string(unigram)}),
		"a Unigram (Sentence":        bare(checkpointForm{}, map[string]string{"tokenizer.json": `{"model":{"vocab":[["a",-1]]}}`}),
		"a byte-pair":                bare(checkpointForm{}, map[string]string{"tokenizer.json": `{"model":{"type":"BPE","vocab":{},"merges":[]}}`}),
		"it has no model":            bare(checkpointForm{}, map[string]string{"tokenizer.json": `{"version":"1.0"}`}),
		"is no tokenizer.json":       bare(checkpointForm{}, map[string]string{"tokenizer.json": `[1]`}),
		"normalizer is none":         bare(checkpointForm{}, map[string]string{"tokenizer.json": `{"normalizer":null,"model":{"type":"WordPiece","vocab":{}}}`}),
		"begin with [\"encoder.\"]":  bare(checkpointForm{Prefix: "encoder."}, nil),
		"those of a BertModel":       bare(checkpointForm{Prefix: "0.auto_model."}, nil),
		"scores for classes":         logits("logits", onnx.Varying("batch"), onnx.Fixed(2)),
		"scores for classes or word": logits("logits", onnx.Varying("batch"), onnx.Varying("sequence"), onnx.Fixed(30522)),
	} {
		refuse(t, dir, convert.Options{}, want)
		if !strings.Contains(want, "normalizer") {
			refuse(t, dir, convert.Options{Pooling: models.PoolingMean}, want)
		}
	}
	// A masked language model that sentence-transformers uses as a dense encoder is one.
	imported(t, checkpoint(t, tiny.Expert{}, class("BertForMaskedLM")), convert.Options{})
	// A vocabulary's worth of scores, whatever the output is called.
	large := tiny.Vocabulary()
	for i := range 5000 {
		large = append(large, "w"+strings.Repeat("x", i%7)+string(rune('a'+i%26))+strings.Repeat("y", i/26))
	}
	dir := logits("prediction", onnx.Varying("batch"), onnx.Fixed(len(large)))
	refuse(
		t,
		with(t, dir, map[string]string{"vocab.txt": strings.Join(large, "\n")}),
		convert.Options{},
		"a score for each word piece",
	)
}

// TestImportReadsRegularFiles: a link to a device that never ends, or a pipe that nobody
// writes to, in the place of any file is refused at once.
func TestImportReadsRegularFiles(t *testing.T) {
	fresh := map[string]func() string{
		"checkpoint": func() string {
			return with(
				t,
				checkpoint(t, tiny.Expert{}, checkpointForm{}),
				map[string]string{"config_sentence_transformers.json": "{}", "sentence_bert_config.json": "{}"},
			)
		},
		"ONNX": func() string {
			return with(t, exported(t, export()), map[string]string{"config.json": `{"hidden_size":4}`})
		},
		"bundle": func() string { return write(t, tiny.Expert{}).Dir },
	}
	for kind, names := range map[string][]string{
		"checkpoint": {"config.json", "modules.json", "1_Pooling/config.json", "config_sentence_transformers.json", "sentence_bert_config.json", "vocab.txt", "tokenizer.json", "tokenizer_config.json", "model.safetensors", "expert.yaml"},
		"ONNX":       {"config.json", "vocab.txt", "tokenizer.json", "modules.json"},
		"bundle":     {"expert.yaml", "calibration.yaml", "vocab.txt", "encoder.onnx"},
	} {
		for _, name := range names {
			for what, make := range map[string]func(path string) error{
				"a device": func(path string) error { return os.Symlink("/dev/zero", path) },
				"a pipe":   func(path string) error { return unix.Mkfifo(path, 0o600) },
				"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
				"a link to a pipe": func(path string) error {
					return errors.Join(unix.Mkfifo(path+".pipe", 0o600), os.Symlink(filepath.Base(path)+".pipe", path))
				},
			} {
				dir := without(t, fresh[kind](), name)
				if err := make(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
				if kind == "bundle" {
					if v := convert.Verify(dir); v.Fine || !strings.Contains(v.Error, "not a regular file") {
						t.Errorf("%s, %s as %s: %+v", kind, name, what, v)
					}
					continue
				}
				refuse(t, dir, convert.Options{Pooling: models.PoolingMean}, "not a regular file")
			}
		}
	}
}

// TestImportPassesOverPipes: a pipe or an endless device in the place of a README, which is read for the licence
// alone, and others that no import looks at do not keep it from ending. Links to regular files are followed, as
// caches of published models have them; one to itself is refused.
func TestImportPassesOverPipes(t *testing.T) {
	for what, make := range map[string]func(path string) error{
		"a device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"a pipe":   func(path string) error { return unix.Mkfifo(path, 0o600) },
	} {
		dir := without(t, checkpoint(t, tiny.Expert{}, checkpointForm{}), "README.md")
		for _, name := range []string{"README.md", "pytorch_model.bin", ".gitattributes", "training_args.bin"} {
			if err := make(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		out := filepath.Join(t.TempDir(), "out")
		if _, err := convert.Import(t.Context(), dir, out, convert.Options{Pooling: models.PoolingMean}); err != nil {
			t.Errorf("beside %s: %v", what, err)
		}
	}
	dir := checkpoint(t, tiny.Expert{}, checkpointForm{})
	blobs := t.TempDir()
	for _, name := range []string{"config.json", "vocab.txt", "model.safetensors"} {
		if err := errors.Join(os.Rename(filepath.Join(dir, name), filepath.Join(blobs, name)),
			os.Symlink(filepath.Join(blobs, name), filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	if _, err := convert.Import(t.Context(), dir, out, convert.Options{Pooling: models.PoolingMean}); err != nil {
		t.Errorf("links to files: %v", err)
	}
	for _, name := range []string{"config.json", "vocab.txt", "model.safetensors"} {
		dir := without(t, checkpoint(t, tiny.Expert{}, checkpointForm{}), name)
		if err := os.Symlink(name, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		refuse(t, dir, convert.Options{Pooling: models.PoolingMean}, name)
	}
}
