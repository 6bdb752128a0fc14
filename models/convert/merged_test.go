package convert_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/models/convert/tiny"
)

func merge(tb testing.TB, dir string, o convert.Options) *models.Bundle {
	tb.Helper()
	if o.Base == "" {
		o.Base = goldenBase
	}
	out := filepath.Join(tb.TempDir(), "merged")
	if _, err := openDelta(tb, dir).Merge(context.Background(), out, o); err != nil {
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

// TestMergedBundle: what decides about vectors is the delta's, what does not
// travels along.
func TestMergedBundle(t *testing.T) {
	for dir, graphs := range map[string][2]string{goldenTied: {"encoder.onnx", "encoder.onnx"}, goldenTwo: {"question.onnx", "passage.onnx"}} {
		for _, int8 := range []bool{false, true} {
			d := openDelta(t, dir)
			b := merge(t, dir, convert.Options{Int8: int8})
			m, from := b.Manifest, d.Manifest
			if m.Delta != "" || m.Name != from.Name || *m.Base != *from.Base || m.Vectors.MaxTokens != from.Vectors.MaxTokens || m.Vectors.Template != from.Vectors.Template || m.Tokenizer != "vocab.txt" ||
				m.Precision != map[bool]string{false: "fp32", true: "int8"}[int8] || m.Vectors.Question.File != graphs[0] ||
				m.Vectors.Passage.File != graphs[1] ||
				m.Lineage.SourceSHA256 != m.Base.WeightsSHA256 || m.Lineage.MergedFrom != d.SHA256 ||
				m.Lineage.Notes["trained by"] != "conclave-train" ||
				m.Lineage.Producer != convert.Producer {
				t.Errorf("%s: %+v", dir, m)
			}
			for _, name := range []string{"CARD.md", "ensemble.onnx", "representatives.safetensors"} {
				if m.Files[name] == "" || m.Files[name] != from.Files[name] {
					t.Errorf("%s: %s did not travel along", dir, name)
				}
			}
			if m.Files["delta.safetensors"] != "" {
				t.Errorf("%s: the delta is in the merged bundle", dir)
			}
			if again := merge(t, dir, convert.Options{Int8: int8}); !sameFiles(t, b.Dir, again.Dir) {
				t.Errorf("%s, int8 %t: the same delta and base gave other bytes", dir, int8)
			}
		}
	}
	if b := merge(t, goldenTied, convert.Options{Name: "other"}); b.Manifest.Name != "other" {
		t.Errorf("name %q", b.Manifest.Name)
	}
}

// TestMergedGraphIsTheImporters: a checkpoint with the merged weights would
// be imported to the same graph. The change here is a power of two, so that
// adding it in another order rounds to nothing else.
func TestMergedGraphIsTheImporters(t *testing.T) {
	w := readDelta(t, goldenTied)
	w.tensors = nil
	const bias = "encoder.layer.1.output.dense.bias"
	w.add("shared."+bias+".diff", "F16", 32)
	for i := range 32 {
		w.tensors[0].Raw[2*i+1] = 0x38 // 0.5
	}
	metadata, all := readTensors(t, filepath.Join(goldenBase, "model.safetensors"))
	changed := filepath.Join(t.TempDir(), "changed")
	if err := os.CopyFS(changed, os.DirFS(goldenBase)); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(all, func(x convert.Tensor) bool { return x.Name == bias })
	all[at].Raw = addHalf(all[at].Raw)
	writeTensors(t, filepath.Join(changed, "model.safetensors"), metadata, all)
	for _, int8 := range []bool{false, true} {
		want := imported(t, changed, convert.Options{Int8: int8}).Manifest.Files["encoder.onnx"]
		files := merge(t, w.write(t, goldenTied), convert.Options{Int8: int8}).Manifest.Files
		if got := files["encoder.onnx"]; got != want {
			t.Errorf("int8 %t: another graph than a checkpoint with these weights gives", int8)
		}
		if plain := imported(t, goldenBase, convert.Options{Int8: int8}).Manifest.Files["encoder.onnx"]; plain == want {
			t.Errorf("int8 %t: the change changed nothing", int8)
		}
	}
}

// TestSideWithoutChangesIsTheBase: a delta may change one side alone.
func TestSideWithoutChangesIsTheBase(t *testing.T) {
	w := readDelta(t, goldenTwo)
	w.tensors = slices.DeleteFunc(w.tensors, func(x convert.Tensor) bool { return strings.HasPrefix(x.Name, "passage.") })
	m := merge(t, w.write(t, goldenTwo), convert.Options{}).Manifest
	base := imported(t, goldenBase, convert.Options{}).Manifest.Files["encoder.onnx"]
	if m.Files["passage.onnx"] != base ||
		m.Files["question.onnx"] == base {
		t.Error("the passages' encoder is not the base's, or the questions' is")
	}
}

// TestImportRecognisesADelta, and wants no choices that the delta has made.
func TestImportRecognisesADelta(t *testing.T) {
	b := imported(t, goldenTied, convert.Options{Base: goldenBase, Name: "tied"})
	want := merge(t, goldenTied, convert.Options{}).Manifest.Files["encoder.onnx"]
	if got := b.Manifest.Files["encoder.onnx"]; got != want {
		t.Error("Import and Merge differ")
	}
	refuse(t, goldenTied, convert.Options{}, "004f6db8a5fc1471734cd9ef4e23ca4661e8b9025ad4f7f0bddabe4b73a3bb37")
	refuse(
		t, goldenTied, convert.Options{Base: goldenBase, Template: "text"}, "the template of a delta cannot be chosen",
	)
	refuse(t, goldenTied, convert.Options{Base: goldenBase, Pooling: "cls"}, "the pooling of a delta cannot be chosen")
	refuse(t, goldenBase, convert.Options{Base: goldenBase}, "a base is for deltas")
	refuse(t, b.Dir, convert.Options{Base: goldenBase}, convert.ErrNotDelta.Error())
	refuse(t, goldenTied, convert.Options{Base: filepath.Join(t.TempDir(), "none")}, "config.json")
	refuse(
		t,
		goldenTied,
		convert.Options{Base: checkpoint(t, tiny.Expert{}, checkpointForm{})},
		"the delta changes a base whose weights have the SHA-256 004f6db8",
	)
}

// TestDeltaOfTwoEncoders: a base as DPR publishes it.
func TestDeltaOfTwoEncoders(t *testing.T) {
	o := tiny.Expert{Seed: 4, TwoTowers: true, Pooling: models.PoolingCLS, RawLength: true, Projection: 16}
	base := checkpoint(t, o, checkpointForm{Prefix: "question_encoder.bert_model."})
	passage := checkpoint(t, o, checkpointForm{Prefix: "ctx_encoder.bert_model."})
	plain := imported(t, base, convert.Options{PassageDir: passage})
	w := readDelta(t, goldenTwo)
	w.manifest.Base = &models.Base{Name: "dpr", WeightsSHA256: plain.Manifest.Lineage.SourceSHA256}
	w.metadata["base_sha256"] = w.manifest.Base.WeightsSHA256
	w.manifest.Vectors.Dimension = 16
	w.manifest.Vectors.Pooling = models.PoolingCLS
	w.manifest.Vectors.Normalise = false
	w.manifest.Vectors.Ensemble, w.manifest.Vectors.Representatives = nil, ""
	w.tensors = nil
	w.add("question.encode_proj.weight.up", "F16", 16, 1)
	w.add("question.encode_proj.weight.down", "F16", 1, 32)
	w.add("passage.encoder.layer.0.output.dense.bias.diff", "F16", 32)
	// A change by 0 gives the base's graphs, each side its own.
	m := merge(t, w.write(t, goldenTwo), convert.Options{Base: base, PassageDir: passage}).Manifest
	for _, file := range []string{"question.onnx", "passage.onnx"} {
		if m.Files[file] != plain.Manifest.Files[file] {
			t.Errorf("%s is not the base's", file)
		}
	}
	w.tensors = nil
	w.add("shared.encode_proj.bias.diff", "F16", 16)
	refuse(t, w.write(t, goldenTwo), convert.Options{Base: base, PassageDir: passage}, "the base in "+base+" has two")
}

// TestCalibrationTravels: what was fitted for the delta is then for the
// merged encoder.
func TestCalibrationTravels(t *testing.T) {
	dir := readDelta(t, goldenTied).write(t, goldenTied)
	delta, err := models.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	plain := openDelta(t, dir).SHA256
	c := models.Calibration{
		Temperature:   0.05,
		Depth:         20,
		ECEBefore:     0.3,
		ECEAfter:      0.05,
		Questions:     "dev",
		QuestionCount: 9,
	}
	if err := delta.WriteCalibration(c); err != nil {
		t.Fatal(err)
	}
	if got := delta.Calibration.Encoder; got != delta.Manifest.Files["delta.safetensors"] {
		t.Errorf("a delta's calibration names %s", got)
	}
	d := openDelta(t, dir)
	if d.Calibration == nil || d.SHA256 == plain {
		t.Error("the calibration is not seen")
	}
	for _, int8 := range []bool{false, true} {
		b := merge(t, dir, convert.Options{Int8: int8})
		if b.Calibration == nil || b.Calibration.Temperature != c.Temperature || b.Calibration.Depth != c.Depth ||
			b.Calibration.Encoder != b.Fingerprint(models.Question) {
			t.Errorf("calibration %+v", b.Calibration)
		}
	}
	// One that was fitted for another delta.
	w := readDelta(t, goldenTied)
	w.drop("shared.embeddings.LayerNorm.bias.diff")
	other := w.write(t, goldenTied)
	data, err := os.ReadFile(filepath.Join(dir, models.CalibrationFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, models.CalibrationFile), data, 0o644); err != nil {
		t.Fatal(err)
	}
	refuse(t, other, convert.Options{Base: goldenBase}, "it was fitted for another delta")
}

// TestInterruptedMergeLeavesNothing at any tensor.
func TestInterruptedMergeLeavesNothing(t *testing.T) {
	d := openDelta(t, goldenTwo)
	parent := t.TempDir()
	for _, looks := range []int{0, 30, 60} {
		_, err := d.Merge(
			&endingAfter{context.Background(), looks},
			filepath.Join(parent, "bundle"),
			convert.Options{Base: goldenBase},
		)
		if left, _ := os.ReadDir(parent); !errors.Is(err, context.Canceled) || len(left) > 0 {
			t.Errorf("after %d tensors: %v, left behind %v", looks, err, left)
		}
	}
}

// addHalf adds 0.5 to little-endian float32s.
func addHalf(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for ; len(raw) > 0; raw = raw[4:] {
		v := math.Float32frombits(binary.LittleEndian.Uint32(raw)) + 0.5
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

// TestKilledImportsAreClearedAway by the next of the same target. One that is
// under way is left alone.
func TestKilledImportsAreClearedAway(t *testing.T) {
	parent := t.TempDir()
	target := filepath.Join(parent, "bundle")
	for _, killed := range []string{".bundle.tmp", ".bundle.tmp.old"} {
		if err := os.MkdirAll(filepath.Join(parent, killed, "inside"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	first, err := convert.NewFolder(target)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := convert.NewFolder(target); err == nil || !strings.Contains(err.Error(), "by another import") {
		t.Errorf("two at once: %v", err)
	}
	first.Abandon()
	b, err := openDelta(t, goldenTied).Merge(context.Background(), target, convert.Options{Base: goldenBase})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Check(); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(parent); len(entries) != 1 {
		t.Errorf("there is %v, not the bundle alone", entries)
	}
}
