package convert_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/models"
	"example.org/conclave/models/convert"
)

const goldenHead = "../../training/golden/desire-me"

// TestImportedHead: the graph is taken over as it is, and two heads on one base have
// fingerprints of their own.
func TestImportedHead(t *testing.T) {
	d := openDelta(t, goldenHead)
	b := merge(t, goldenHead, convert.Options{})
	m := b.Manifest
	if m.Kind != models.KindDesireMe || m.Delta != "" || m.Dimension() != 32 || m.Lineage.MergedFrom != d.SHA256 ||
		m.Lineage.Producer != convert.Producer ||
		m.Head == nil ||
		!slices.Equal(m.Head.Domains, []string{"left", "middle", "right"}) {
		t.Errorf("%+v", m)
	}
	if b.Fingerprint(models.Question) != m.Files["head.onnx"] || b.Fingerprint(models.Passage) != m.Files["head.onnx"] {
		t.Errorf("fingerprint %s", b.Fingerprint(models.Question))
	}
	seen := map[string]bool{}
	for _, run := range []string{"a", "b"} {
		for _, head := range []string{"a", "b"} {
			seen[models.HeadFingerprint(run, head)] = true
		}
	}
	if len(seen) != 4 {
		t.Error("fingerprints do not depend on both")
	}
	if got := imported(t, goldenHead, convert.Options{Base: goldenBase,
		Name: "other"}).Manifest.Name; got != "other" {
		t.Errorf("name %q", got)
	}
	if _, err := convert.Import(t.Context(), goldenHead, t.TempDir()+"/x", convert.Options{}); err == nil ||
		!strings.Contains(err.Error(), "needs its base") {
		t.Errorf("without its base: %v", err)
	}
	listed, err := models.List("../../training/golden")
	if err != nil {
		t.Fatal(err)
	}
	if at := slices.IndexFunc(listed, func(l models.ListedBundle) bool { return l.Name == "desire-me" }); at < 0 ||
		!listed[at].Delta ||
		listed[at].Error != "" {
		t.Errorf("%+v", listed)
	}
	if v := convert.Verify(goldenHead); !v.Fine {
		t.Error(v.Error)
	}
	if v := convert.Verify(b.Dir); !v.Fine {
		t.Error(v.Error)
	}
}

// TestImpossibleHeads: what the manifest of a head cannot say.
func TestImpossibleHeads(t *testing.T) {
	data, err := os.ReadFile(goldenHead + "/expert.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(data), "# sha256")
	for from, c := range map[string]struct{ to, want string }{
		"  - middle\n":           {"  - left\n", `head.domains: "left" is empty or there twice`},
		"  - middle\n  - right":  {"", "head.domains: there are 1; a gate tells from 2 to 256"},
		"delta: head.onnx":       {"delta: CARD.md", `delta: "CARD.md"; that of a desire-me expert is its head`},
		"  file: head.onnx":      {"  file: other.onnx", `head.file: "other.onnx" is not listed under files`},
		"precision: fp32":        {"precision: int8", `precision: "int8"; that of a desire-me expert is fp32`},
		"dimension: 32":          {"dimension: 0", "dimension: 0 is not between 1 and"},
		"normalise: true":        {"normalise: true\npooling: mean", "pooling: a desire-me expert has none"},
		"kind: desire-me":        {"kind: dense", "head: a dense expert has none"},
		"weights_sha256: 004f6d": {"weights_sha256: 004f6z", "base.weights_sha256"},
	} {
		if !strings.Contains(text, from) {
			t.Fatalf("%q is not in the manifest", from)
		}
		if _, err := models.ParseManifest([]byte(strings.Replace(text, from, c.to, 1))); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: %v, want %s", c.to, from, err, c.want)
		}
	}
}
