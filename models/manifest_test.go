package models_test

import (
	"bytes"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/models"
	"example.org/conclave/models/convert"
)

const hash = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func manifest() models.Manifest {
	return models.Manifest{
		Format: 1, Name: "health", Kind: "dense", LowerCase: true, Precision: "int8", Tokenizer: "vocab.txt",
		Vectors: &models.Vectors{
			Dimension: 384, Pooling: "mean", Normalise: true, Template: "pair", Similarity: "inner-product",
			MaxTokens: models.MaxTokens{Question: 64, Passage: 256},
			Question:  convert.DefaultGraph("question.onnx"), Passage: convert.DefaultGraph("passage.onnx"),
			Ensemble: &models.Ensemble{File: "ensemble.onnx", Members: 20},
		},
		Lineage: models.Lineage{Source: "somewhere", Notes: map[string]string{"seed": "7"}},
		Files: map[string]string{
			"vocab.txt":     hash,
			"question.onnx": hash,
			"passage.onnx":  hash,
			"ensemble.onnx": hash,
			"extra.bin":     hash,
		},
	}
}

func TestManifestRoundTrip(t *testing.T) {
	m := manifest()
	data, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := models.ParseManifest(data)
	if err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestManifestByHand reads what a person might write, without a checksum.
func TestManifestByHand(t *testing.T) {
	m, err := models.ParseManifest([]byte(`
format: 1
name: mine
kind: dense
dimension: 8   # short
pooling: cls
normalise: false
max_tokens: {question: 32, passage: 128}
lower_case: false
template: text
similarity: inner-product
precision: fp32
tokenizer: tokenizer.json
question: &both {file: m.onnx, input_ids: a, attention_mask: b, embedding: c}
passage: *both
lineage: {}
files: {tokenizer.json: ` + hash + `, m.onnx: ` + hash + `}
`))
	if err != nil {
		t.Fatal(err)
	}
	if m.Vectors.Passage.Embedding != "c" || m.Vectors.Passage.TokenTypeIDs != "" || m.Vectors.MaxTokens.Passage != 128 {
		t.Errorf("%+v", m)
	}
}

func TestManifestErrorsNameTheKey(t *testing.T) {
	for want, change := range map[string]func(*models.Manifest){
		"format: 2":            func(m *models.Manifest) { m.Format = 2 },
		`name: "Health"`:       func(m *models.Manifest) { m.Name = "Health" },
		`name: ""`:             func(m *models.Manifest) { m.Name = "" },
		`name: "../x"`:         func(m *models.Manifest) { m.Name = "../x" },
		"kind":                 func(m *models.Manifest) { m.Kind = "another" },
		"dimension: 0":         func(m *models.Manifest) { m.Vectors.Dimension = 0 },
		"pooling":              func(m *models.Manifest) { m.Vectors.Pooling = "max" },
		"max_tokens.question":  func(m *models.Manifest) { m.Vectors.MaxTokens.Question = 2 },
		"max_tokens.passage":   func(m *models.Manifest) { m.Vectors.MaxTokens.Passage = -1 },
		"template":             func(m *models.Manifest) { m.Vectors.Template = "" },
		"similarity":           func(m *models.Manifest) { m.Vectors.Similarity = "cosine" },
		"precision":            func(m *models.Manifest) { m.Precision = "int4" },
		`tokenizer: "x.json"`:  func(m *models.Manifest) { m.Tokenizer = "x.json" },
		`question.file: "q"`:   func(m *models.Manifest) { m.Vectors.Question.File = "q" },
		"passage: input_ids":   func(m *models.Manifest) { m.Vectors.Passage.Embedding = "" },
		`ensemble.file: "e"`:   func(m *models.Manifest) { m.Vectors.Ensemble.File = "e" },
		"ensemble.members: 0":  func(m *models.Manifest) { m.Vectors.Ensemble.Members = 0 },
		`files: "../p"`:        func(m *models.Manifest) { m.Files["../p"] = hash },
		`files: "a/b"`:         func(m *models.Manifest) { m.Files["a/b"] = hash },
		"files: expert.yaml":   func(m *models.Manifest) { m.Files["expert.yaml"] = hash },
		"the SHA-256 of extra": func(m *models.Manifest) { m.Files["extra.bin"] = strings.ToUpper(hash) },
	} {
		m := manifest()
		m.Files = maps.Clone(m.Files)
		change(&m)
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, have %v", want, err)
		}
		if _, err := m.Encode(); err == nil {
			t.Errorf("%s: a bad manifest was written", want)
		}
	}
}

func TestLateManifestErrorsNameTheKey(t *testing.T) {
	late := func() models.Manifest {
		m := manifest()
		m.Kind = models.KindLate
		m.Vectors.Pooling = models.PoolingTokens
		m.Vectors.Dimension = 64
		m.Vectors.Ensemble = nil
		m.Vectors.Question = convert.LateGraph("question.onnx", 384)
		m.Vectors.Passage = convert.LateGraph("passage.onnx", 384)
		m.Base = &models.Base{WeightsSHA256: hash}
		return m
	}
	m := late()
	if data, err := m.Encode(); err != nil {
		t.Error(err)
	} else if got, err := models.ParseManifest(data); err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("%+v, %v", got, err)
	}
	for want, change := range map[string]func(*models.Manifest){
		`pooling: "mean"; a late expert's is "tokens"`: func(m *models.Manifest) { m.Vectors.Pooling = models.PoolingMean },
		`pooling: "tokens" is not one of`:              func(m *models.Manifest) { m.Kind = models.KindDense },
		"normalise: false":                             func(m *models.Manifest) { m.Vectors.Normalise = false },
		"dimension: 62; that of a late expert":         func(m *models.Manifest) { m.Vectors.Dimension = 62 },
		"dimension: 260; that of a late expert":        func(m *models.Manifest) { m.Vectors.Dimension = 260 },
		"dimension: 0 is not between":                  func(m *models.Manifest) { m.Vectors.Dimension = 0 },
		"ensemble: a late expert":                      func(m *models.Manifest) { m.Vectors.Ensemble = &models.Ensemble{File: "extra.bin", Members: 3} },
		"question.pooled_dimension: 0 is not":          func(m *models.Manifest) { m.Vectors.Question.PooledDimension = 0 },
		"pooled_dimension: 384, and pooled names no":   func(m *models.Manifest) { m.Vectors.Passage.Pooled = "" },
		`passage.pooled: "tokens" is the output of`:    func(m *models.Manifest) { m.Vectors.Passage.Pooled = "tokens" },
		"embedding alone": func(m *models.Manifest) {
			m.Kind, m.Vectors.Pooling = models.KindDense,
				models.PoolingMean
		},
		"representatives: a late expert": func(m *models.Manifest) { m.Vectors.Representatives = "extra.bin" },
	} {
		m := late()
		change(&m)
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, have %v", want, err)
		}
	}
}

func TestUnknownKeysAreErrors(t *testing.T) {
	m := manifest()
	data, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	data = data[:bytes.LastIndexByte(data[:len(data)-1], '\n')+1] // without the checksum
	for name, text := range map[string]string{
		"field poling not found":       strings.Replace(string(data), "pooling:", "poling:", 1),
		"field question_len not found": strings.Replace(string(data), "  question: 64", "  question_len: 64", 1),
		"already defined":              string(data) + "name: twice\n",
		"more than one document":       string(data) + "---\nformat: 1\n",
		"the file is empty":            "",
		"cannot unmarshal":             strings.Replace(string(data), "dimension: 384", "dimension: many", 1),
	} {
		if _, err := models.ParseManifest([]byte(text)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want an error with %q, have %v", name, err)
		}
	}
}

// TestEveryChangedByteOfTheManifestIsFound flips each byte in two ways.
func TestEveryChangedByteOfTheManifestIsFound(t *testing.T) {
	m := manifest()
	data, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		for _, flip := range []byte{1, 0x20} {
			changed := slices.Clone(data)
			changed[i] ^= flip
			if _, err := models.ParseManifest(changed); err == nil {
				t.Fatalf("byte %d, %q for %q, went unnoticed", i, changed[i], data[i])
			}
		}
	}
	for i := range data {
		if _, err := models.ParseManifest(data[:i]); err == nil && !bytes.Contains(data[i:], []byte("# sha256")) {
			t.Fatalf("cut at %d of %d went unnoticed", i, len(data))
		}
	}
}

func FuzzParseManifest(f *testing.F) {
	m := manifest()
	data, err := m.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("format: 1\nname: a\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := models.ParseManifest(data)
		if err != nil {
			return
		}
		encoded, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := models.ParseManifest(encoded); err != nil || again.Name != m.Name {
			t.Fatalf("%+v became %+v: %v", m, again, err)
		}
	})
}

// TestFingerprintsAreTheTrainings: training computes fingerprints too, for
// the calibrations that it writes; training/tests/test_manifest.py has the same
// manifest and the same values. Whoever changes the one changes the other.
func TestFingerprintsAreTheTrainings(t *testing.T) {
	graph := func(file string) models.Graph {
		return models.Graph{File: file, InputIDs: "input_ids", AttentionMask: "attention_mask", Embedding: "embedding"}
	}
	b := &models.Bundle{Manifest: models.Manifest{
		Format: 1, Name: "x", Kind: "dense", LowerCase: true, Precision: "fp32", Tokenizer: "vocab.txt",
		Vectors: &models.Vectors{
			Dimension: 384, Pooling: "mean", Normalise: true, Template: "title-dot-text", Similarity: "inner-product",
			MaxTokens: models.MaxTokens{Question: 64, Passage: 256},
			Question:  graph("question.onnx"), Passage: graph("passage.onnx"),
		},
		Files: map[string]string{
			"vocab.txt":     strings.Repeat("a", 64),
			"question.onnx": strings.Repeat("b", 64),
			"passage.onnx":  strings.Repeat("c", 64),
		},
	}}
	for side, want := range map[models.Side]string{
		models.Question: "088bb91113f690dccca59cee473bd89f984621235c096555acb00c34e950e2e0",
		models.Passage:  "c547991d67cca87ecd00564470b93342b28a3dcc920c2da64965ccb6e17812a0",
	} {
		if got := b.Fingerprint(side); got != want {
			t.Errorf("side %d: %s", side, got)
		}
	}
}

func TestRepresentativesHaveABase(t *testing.T) {
	m := manifest()
	m.Vectors.Representatives = "extra.bin"
	if err := m.Validate(); err == nil || !strings.Contains(err.Error(), "base must say whose") {
		t.Errorf("representatives of no base: %v", err)
	}
}

// TestKeysOfOtherKinds: each key that only other kinds have is named, in a manifest of each kind.
func TestKeysOfOtherKinds(t *testing.T) {
	keys := map[string][]string{ // a line, and the kinds that have its key
		"dimension: 8":                 {"dense", "late", "desire-me"},
		"pooling: mean":                {"dense", "late"},
		"longest_span: 3":              {"reader"},
		"template: text":               {"dense", "late", "reader"},
		"prefix: {question: q}":        {"dense", "late"},
		"similarity: inner-product":    {"dense", "late"},
		"question: {file: f}":          {"dense", "late"},
		"passage: {file: f}":           {"dense", "late"},
		"generator: {beams: 1}":        {"generator"},
		"reader: {file: f}":            {"reader"},
		"head: {file: f}":              {"desire-me"},
		"ensemble: {members: 2}":       {"dense"},
		"representatives: r":           {"dense"},
		"max_tokens: {passage: 9}":     {"dense", "late"},
		"max_tokens: {title: 9}":       {"reader"},
		"max_tokens: {pair: 9}":        {"reader"},
		"max_tokens: {question: 9}":    {"dense", "late", "reader"},
		"normalise: true":              {"dense", "late", "desire-me"},
		"lineage: {source: somewhere}": {"dense", "late", "reader", "generator", "desire-me"},
	}
	for line, kinds := range keys {
		key, rest, _ := strings.Cut(line, ":")
		if key == "max_tokens" {
			field, _, _ := strings.Cut(strings.TrimLeft(rest, " {"), ":")
			key += "." + field
		}
		for _, kind := range []string{"dense", "late", "reader", "generator", "desire-me"} {
			_, err := models.ParseManifest([]byte("format: 1\nname: x\nkind: " + kind + "\n" + line + "\n"))
			if err == nil {
				t.Fatalf("%s of a %s was taken", line, kind)
			}
			refused := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(key) + `: an? .* has none(:|$)`).MatchString(err.Error())
			if refused == slices.Contains(kinds, kind) {
				t.Errorf("%s of a %s: %v", line, kind, err)
			}
		}
	}
}
