package convert_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/models/convert/safetensors"
)

// What training/golden/make.py wrote: a base, deltas, and what NumPy makes of
// them.
const (
	goldenBase = "../../training/golden/base"
	goldenTied = "../../training/golden/tied"
	goldenTwo  = "../../training/golden/two"
	goldenLate = "../../training/golden/late"
)

func openDelta(tb testing.TB, dir string) *convert.Delta {
	tb.Helper()
	d, err := convert.OpenDelta(os.DirFS(dir))
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// written is a copy of a delta bundle that a test may change.
type written struct {
	manifest models.Manifest
	metadata map[string]string
	tensors  []convert.Tensor
}

func readDelta(tb testing.TB, dir string) *written {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(dir, models.ManifestFile))
	if err != nil {
		tb.Fatal(err)
	}
	w := &written{}
	w.manifest, err = models.ParseManifest(data)
	if err != nil {
		tb.Fatal(err)
	}
	w.metadata, w.tensors = readTensors(tb, filepath.Join(dir, w.manifest.Delta))
	return w
}

func readTensors(tb testing.TB, path string) (map[string]string, []convert.Tensor) {
	tb.Helper()
	file, err := safetensors.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	var all []convert.Tensor
	for _, name := range file.Names() {
		info, _ := file.Info(name)
		all = append(all, convert.Tensor{Name: name, Type: info.Type, Shape: info.Shape, Raw: data[info.Begin:info.End]})
	}
	return maps.Clone(file.Metadata), all
}

func (w *written) at(name string) int {
	return slices.IndexFunc(w.tensors, func(t convert.Tensor) bool { return t.Name == name })
}

func (w *written) drop(name string) { w.tensors = slices.Delete(w.tensors, w.at(name), w.at(name)+1) }

func (w *written) add(name, kind string, shape ...int) {
	n := map[string]int{"F16": 2, "F32": 4}[kind]
	for _, d := range shape {
		n *= d
	}
	w.tensors = append(w.tensors, convert.Tensor{Name: name, Type: kind, Shape: shape, Raw: make([]byte, n)})
}

// write puts the bundle into a new folder, beside the other files of from.
func (w *written) write(tb testing.TB, from string) string {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "delta")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		tb.Fatal(err)
	}
	m := w.manifest
	m.Files = maps.Clone(m.Files)
	m.Files[m.Delta] = writeTensors(tb, filepath.Join(dir, m.Delta), w.metadata, w.tensors)
	writeManifest(tb, dir, m)
	return dir
}

func writeTensors(tb testing.TB, path string, metadata map[string]string, tensors []convert.Tensor) (sum string) {
	tb.Helper()
	file, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	if err := errors.Join(convert.WriteTensors(file, metadata, tensors), file.Close()); err != nil {
		tb.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	hash := sha256.Sum256(data)
	return hex.EncodeToString(hash[:])
}

func writeManifest(tb testing.TB, dir string, m models.Manifest) {
	tb.Helper()
	data, err := m.Encode()
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, models.ManifestFile), data, 0o644); err != nil {
		tb.Fatal(err)
	}
}

func TestDeltaErrorsNameTheTensor(t *testing.T) {
	const matrix, bias = "shared.encoder.layer.0.attention.self.key.weight", "shared.encoder.layer.0.attention.self.key.bias"
	for want, change := range map[string]func(*written){
		`format is "conclave-delta-2"`:                      func(w *written) { w.metadata["format"] = "conclave-delta-2" },
		`its format is ""`:                                  func(w *written) { w.metadata = nil },
		`base with SHA-256 "0123"`:                          func(w *written) { w.metadata["base_sha256"] = "0123" },
		`"` + matrix + `.up" and no "` + matrix + `.down"`:  func(w *written) { w.drop(matrix + ".down") },
		`"` + matrix + `.down" and no "` + matrix + `.up"`:  func(w *written) { w.drop(matrix + ".up") },
		`"` + bias + `.sum": the suffix "sum" is not known`: func(w *written) { w.tensors[w.at(bias+".diff")].Name = bias + ".sum" },
		`"encoder.bias.diff": names are TOWER.NAME.SUFFIX`:  func(w *written) { w.add("encoder.bias.diff", "F16", 1) },
		`"shared": names are`:                               func(w *written) { w.add("shared", "F16", 1) },
		`"shared.diff": names are`:                          func(w *written) { w.add("shared.diff", "F16", 1) },
		`"` + bias + `.diff" has type F32`: func(w *written) {
			w.drop(bias + ".diff")
			w.add(bias+".diff", "F32", 32)
		},
		`"` + bias + `.diff" has the value NaN at element 1`: func(w *written) {
			copy(w.tensors[w.at(bias+".diff")].Raw[2:],
				[]byte{0, 0x7e})
		},
		`"` + matrix + `.up" has the value +Inf at element 0`: func(w *written) {
			copy(w.tensors[w.at(matrix+".up")].Raw, []byte{0, 0x7c})
		},
		`"` + matrix + `.up" [32 2] and "` + matrix + `.down" [3 32]`: func(w *written) {
			w.drop(matrix + ".up")
			w.add(matrix+".up", "F16", 32, 2)
		},
		matrix + ` is changed twice`:       func(w *written) { w.add(matrix+".diff", "F16", 32, 32) },
		`for shared and for one side`:      func(w *written) { w.add("question.pooler.dense.bias.diff", "F16", 32) },
		`it changes nothing`:               func(w *written) { w.tensors = nil },
		`"shared.encoder.layer.7.x" is to`: func(w *written) { w.add("shared.encoder.layer.7.x.diff", "F16", 32) },
		`"shared.pooler.dense.bias" is to change, and the base has no such tensor`: func(w *written) {
			w.add("shared.pooler.dense.bias.diff", "F16", 32)
		},
		`the embedding tables of a delta are the base's`: func(w *written) {
			w.add("shared.embeddings.position_embeddings.weight.diff", "F16", 48, 32)
		},
		`"` + bias + `" has shape [31]; the base's tensor has [32]`: func(w *written) {
			w.drop(bias + ".diff")
			w.add(bias+".diff", "F16", 31)
		},
		`"` + matrix + `" has shape [32 16]; the base's tensor has [32 32]`: func(w *written) {
			w.drop(matrix + ".down")
			w.add(matrix+".down", "F16", 3, 16)
		},
		`vectors have 33 numbers; the base's have 32`: func(w *written) {
			w.manifest.Vectors.Dimension, w.manifest.Vectors.Representatives = 33, ""
		},
		`texts of 49 tokens; the base has 48`: func(w *written) { w.manifest.Vectors.MaxTokens.Passage = 49 },
		`pooling is "graph"`:                  func(w *written) { w.manifest.Vectors.Pooling = models.PoolingGraph },
	} {
		w := readDelta(t, goldenTied)
		change(w)
		refuse(t, w.write(t, goldenTied), convert.Options{Base: goldenBase}, want)
	}
}

func TestDeltaIsVerified(t *testing.T) {
	for _, name := range []string{"expert.yaml", "delta.safetensors", "ensemble.onnx", "representatives.safetensors", "CARD.md"} {
		dir := readDelta(t, goldenTied).write(t, goldenTied)
		path := filepath.Join(dir, name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		bad := slices.Clone(good)
		bad[len(bad)/2] ^= 1
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := convert.OpenDelta(os.DirFS(dir)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s with a byte changed: %v", name, err)
		}
		if _, err := models.Load(dir); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s with a byte changed: Load says %v", name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if _, err := convert.OpenDelta(os.DirFS(dir)); err == nil ||
			name != models.ManifestFile && !strings.Contains(err.Error(), name) ||
			name == models.ManifestFile && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s missing: %v", name, err)
		}
	}
	if v := convert.Verify(goldenTied); !v.Fine {
		t.Error(v.Error)
	}
	w := readDelta(t, goldenTied)
	w.metadata["format"] = "other"
	if v := convert.Verify(w.write(t, goldenTied)); v.Fine || !strings.Contains(v.Error, "other") {
		t.Errorf("a delta in another format: %+v", v)
	}
}

func TestDeltaManifestErrors(t *testing.T) {
	for want, change := range map[string]func(*models.Manifest){
		"base: a delta must say":                          func(m *models.Manifest) { m.Base = nil },
		`delta: "d" is not listed`:                        func(m *models.Manifest) { m.Delta = "d" },
		"base.weights_sha256":                             func(m *models.Manifest) { m.Base = &models.Base{WeightsSHA256: "53aa"} },
		`precision: "int8"; a delta is for fp32`:          func(m *models.Manifest) { m.Precision = models.PrecisionInt8 },
		"the tokenizer and the graphs are the base's":     func(m *models.Manifest) { m.Vectors.Question = convert.DefaultGraph("CARD.md") },
		"tokenizer, question, passage and reader must be": func(m *models.Manifest) { m.Tokenizer = "CARD.md" },
		`representatives: "r" is not listed`:              func(m *models.Manifest) { m.Vectors.Representatives = "r" },
	} {
		m := readDelta(t, goldenTied).manifest
		change(&m)
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, have %v", want, err)
		}
	}
}
