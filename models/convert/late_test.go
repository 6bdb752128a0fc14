package convert_test

import (
	"bytes"
	"os"
	"testing"

	"example.org/conclave/models"
	"example.org/conclave/models/convert"
)

const projection, importance, importanceBias = "shared.late.projection.weight.new", "shared.late.importance.weight.new", "shared.late.importance.bias.new"

// TestMergedLateBundle: a late delta becomes a bundle as the others do, in
// either precision.
func TestMergedLateBundle(t *testing.T) {
	d := openDelta(t, goldenLate)
	if !d.Tied() {
		t.Error("it is not tied")
	}
	for _, int8 := range []bool{false, true} {
		b := merge(t, goldenLate, convert.Options{Int8: int8})
		m := b.Manifest
		if m.Kind != models.KindLate || m.Vectors.Pooling != models.PoolingTokens || m.Dimension() != 8 ||
			!m.Vectors.Normalise ||
			m.Delta != "" ||
			m.Precision != map[bool]string{false: "fp32", true: "int8"}[int8] || m.Lineage.MergedFrom != d.SHA256 ||
			m.Lineage.Producer != convert.Producer ||
			m.Vectors.Question != convert.LateGraph("encoder.onnx", 32) ||
			m.Vectors.Passage != m.Vectors.Question ||
			m.Vectors.Question.Embedding != "tokens" {
			t.Errorf("%+v", m)
		}
		if again := merge(t, goldenLate, convert.Options{Int8: int8}); !sameFiles(t, b.Dir, again.Dir) {
			t.Errorf("int8 %t: the same delta and base gave other bytes", int8)
		}
	}
	if b := imported(t, goldenLate, convert.Options{Base: goldenBase, Name: "late"}); b.Manifest.Name != "late" {
		t.Errorf("name %q", b.Manifest.Name)
	}
}

// TestLateFingerprintsDependOnEveryTensor, the new ones and those of the base.
func TestLateFingerprintsDependOnEveryTensor(t *testing.T) {
	for _, int8 := range []bool{false, true} {
		o := convert.Options{Int8: int8}
		seen := map[string]string{}
		note := func(what string, b *models.Bundle) {
			fingerprint := b.Fingerprint(models.Passage)
			if other, ok := seen[fingerprint]; ok {
				t.Errorf("int8 %t: %s and %s have the same fingerprint", int8, what, other)
			}
			seen[fingerprint] = what
		}
		note("as it is", merge(t, goldenLate, o))
		for _, name := range []string{projection, importance, importanceBias} {
			w := readDelta(t, goldenLate)
			raw := bytes.Clone(w.tensors[w.at(name)].Raw)
			raw[1] ^= 0x80 // the first number's sign
			w.tensors[w.at(name)].Raw = raw
			note(name, merge(t, w.write(t, goldenLate), o))
		}
		w := readDelta(t, goldenLate)
		const bias = "shared.encoder.layer.1.output.dense.bias.diff"
		w.add(bias, "F16", 32)
		w.tensors[w.at(bias)].Raw[1] = 0x38 // 0.5
		note(bias, merge(t, w.write(t, goldenLate), o))
		w.tensors[w.at(bias)].Raw[1] = 0
		if unchanged := merge(t, w.write(t, goldenLate), o); seen[unchanged.Fingerprint(models.Passage)] != "as it is" {
			t.Errorf("int8 %t: a change by 0 is another encoder", int8)
		}
	}
}

func TestLateDeltaErrorsNameTheTensor(t *testing.T) {
	replace := func(name, kind string, shape ...int) func(*written) {
		return func(w *written) {
			w.drop(name)
			w.add(name, kind, shape...)
		}
	}
	for want, change := range map[string]func(*written){
		`needs the tensor "` + projection + `", and there`: func(w *written) { w.drop(projection) },
		`needs the tensor "` + importance + `", and there`: func(w *written) { w.drop(importance) },
		`needs the tensor "` + importanceBias + `", and there`: func(w *written) {
			w.drop(importanceBias)
		},
		`"` + projection + `" has shape [12 32]; [8 32] is needed`: replace(projection, "F16", 12, 32),
		`"` + projection + `" has shape [256]; [8 0] is needed`:    replace(projection, "F16", 256),
		`"` + importance + `" has shape [32]; [1 32] is needed`:    replace(importance, "F16", 32),
		`"` + importance + `" has shape [1 16]; [1 32] is needed`:  replace(importance, "F16", 1, 16),
		`"` + importanceBias + `" has shape [2]; [1] is needed`:    replace(importanceBias, "F16", 2),
		`"` + projection + `" has type F32`:                        replace(projection, "F32", 8, 32),
		`"` + projection + `" has the value +Inf at element 1`: func(w *written) {
			copy(w.tensors[w.at(projection)].Raw[2:], []byte{0, 0x7c})
		},
		`"` + importanceBias + `" has the value NaN at element 0`: func(w *written) {
			copy(w.tensors[w.at(importanceBias)].Raw, []byte{0, 0x7e})
		},
		`"shared.late.gate.weight.new" is new, and a late expert has no such`:     func(w *written) { w.add("shared.late.gate.weight.new", "F16", 1, 32) },
		`"shared.pooler.dense.bias.new" is new, and a late expert has no such`:    func(w *written) { w.add("shared.pooler.dense.bias.new", "F16", 32) },
		`shared.late.importance.bias is changed twice`:                            func(w *written) { w.add("shared.late.importance.bias.diff", "F16", 1) },
		`"shared.late.gate.weight" is to change, and the base has no such tensor`: func(w *written) { w.add("shared.late.gate.weight.diff", "F16", 1) },
		`tensors' names begin with "shared."`: func(w *written) {
			w.tensors = nil
			w.add("question.late.projection.weight.new", "F16", 8, 32)
		},
		`the new tensor "shared.late.importance.weight" has shape [1 16]; with this base [1 32] is needed`: func(w *written) {
			replace(projection, "F16", 8, 16)(w)
			replace(importance, "F16", 1, 16)(w)
		},
		`"shared.late.importance.bias.new" is new; a dense expert`: func(w *written) {
			w.manifest.Kind = models.KindDense
			w.manifest.Vectors.Pooling = models.PoolingMean
			w.manifest.Vectors.Dimension = 32
		},
		"texts of 49 tokens; the base has 48": func(w *written) { w.manifest.Vectors.MaxTokens.Passage = 49 },
	} {
		w := readDelta(t, goldenLate)
		change(w)
		refuse(t, w.write(t, goldenLate), convert.Options{Base: goldenBase}, want)
	}
	w := readDelta(t, goldenTied)
	w.add("shared.late.projection.weight.diff", "F16", 32, 32)
	refuse(
		t,
		w.write(t, goldenTied),
		convert.Options{Base: goldenBase},
		`"shared.late.projection.weight" is to change, and the base has no such tensor`,
	)
	refuse(t, goldenBase, convert.Options{Pooling: models.PoolingTokens}, `the pooling "tokens" is for late experts`)
}

// TestLateBundleIsChecked: a graph whose output is a dense expert's is not a
// late one's, nor the reverse.
func TestLateBundleIsChecked(t *testing.T) {
	late, dense := merge(t, goldenLate, convert.Options{}), merge(t, goldenTied, convert.Options{})
	graph, err := os.ReadFile(dense.Path("encoder.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(late.Path("encoder.onnx"), graph, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := late.Check(); err == nil {
		t.Error("a graph without tokens is taken for a late expert's")
	}
	late.Manifest.Vectors.Question.Embedding, late.Manifest.Vectors.Passage.Embedding = "embedding", "embedding"
	if err := late.Check(); err == nil {
		t.Error("a graph of one vector a text is taken for a late expert's")
	}
}
