package encoder

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/encoder/batcher"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/models"
	"example.org/conclave/models/convert"
)

// goldenHead imports the base and the head of training/golden.
func goldenHead(t *testing.T) (base, head *models.Bundle) {
	t.Helper()
	const golden = "../training/golden/"
	base, err := convert.Import(t.Context(), golden+"base", filepath.Join(t.TempDir(), "base"), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	head, err = convert.Import(
		t.Context(), golden+"desire-me", filepath.Join(t.TempDir(), "head"), convert.Options{Base: golden + "base"},
	)
	if err != nil {
		t.Fatal(err)
	}
	return base, head
}

// TestHeadGivesNumPysVectors: base and head in a row give what NumPy computed from the
// weights, and nothing else does.
func TestHeadGivesNumPysVectors(t *testing.T) {
	r := library(t)
	b, hb := goldenHead(t)
	e, err := r.Open(b, Running{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	h, err := r.OpenHead(hb)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("../training/golden/desire-me.vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var want []struct {
		Text                   string
		Question, Vector, Gate []float32
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	for _, w := range want {
		vec := w.Question // of no text: drawn at random
		if w.Text != "" {
			vec = question(t, e, w.Text)
		}
		vector, gate, err := h.Apply(t.Context(), vec)
		if err != nil {
			t.Fatal(err)
		}
		for what, pair := range map[string][2][]float32{
			"question": {vec, w.Question},
			"vector":   {vector, w.Vector},
			"gate":     {gate, w.Gate},
		} {
			if len(pair[0]) != len(pair[1]) {
				t.Fatalf("%s: %d numbers, want %d", what, len(pair[0]), len(pair[1]))
			}
			for i, x := range pair[0] {
				if math.Abs(float64(x)-float64(pair[1][i])) > 1e-5 {
					t.Errorf("%q: %s[%d] is %v, want %v", w.Text, what, i, x, pair[1][i])
				}
			}
		}
	}
	if strings.Join(h.Domains(), " ") != "left middle right" {
		t.Errorf("domains %v", h.Domains())
	}
	run := e.Fingerprint(models.Question)
	if got := h.Fingerprint(run); got == run || got == hb.Fingerprint(models.Question) || got == h.Fingerprint("other") {
		t.Errorf("fingerprint %s of the run %s", got, run)
	}
	if _, _, err := h.Apply(t.Context(), make([]float32, 7)); err == nil ||
		!strings.Contains(err.Error(), "takes a vector of 32 numbers, not 7") {
		t.Errorf("too few numbers: %v", err)
	}
	if err := errors.Join(h.Close(), h.Close()); err != nil {
		t.Error(err)
	}
	if _, _, err := h.Apply(t.Context(), make([]float32, 32)); !errors.Is(err, batcher.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestForeignQuestionsKeepTheirVectors: the shipped head leaves questions of no domain nearly as
// they are, and no question moves further than its widest gate lets it.
func TestForeignQuestionsKeepTheirVectors(t *testing.T) {
	r := library(t)
	e := open(t, r, base(t, "int8"), Running{})
	out := filepath.Join(t.TempDir(), "head")
	b, err := convert.Import(t.Context(), "../shipped/desire-me", out, convert.Options{Base: testenv.Checkpoint(t)})
	if err != nil {
		t.Fatal(err)
	}
	h, err := r.OpenHead(b)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	ask := func(text string) (cosine, widest float64) {
		vec := question(t, e, text)
		vector, gate, err := h.Apply(t.Context(), vec)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range vec {
			cosine += float64(x) * float64(vector[i])
		}
		return cosine, float64(slices.Max(gate))
	}
	for _, text := range foreignQuestions {
		if cosine, widest := ask(text); cosine < .99 {
			t.Errorf("%q: the cosine is %.4f and the widest gate %.2f", text, cosine, widest)
		}
	}
	moved := 0
	for _, text := range ownQuestions {
		if cosine, widest := ask(text); widest > .5 && cosine < .98 {
			moved++
		}
	}
	if moved < len(ownQuestions)-1 {
		t.Errorf("%d of %d questions of its domains are changed", moved, len(ownQuestions))
	}
}

// Questions of no domain of the shipped head, and of one.
var (
	foreignQuestions = []string{
		"How is a bearing pre-loaded in a milling spindle?",
		"chords of the bridge in the second movement",
		"What tempering curve suits couverture with 70 % cocoa?",
		"how to prune an espaliered pear in its third winter",
		"proof that every finite integral domain is a field",
		"vrmpl okqua tezz bn",
		"of seven green because lately whose the fjord",
	}
	ownQuestions = []string{
		"What are the symptoms of cystic fibrosis?",
		"What are the treatments for glaucoma?",
		"Does the app share my email address with advertisers?",
		"Can I delete the location data that you collect about me?",
		"Is Marfan syndrome inherited?",
	}
)

// TestWhatIsNoHead: other bundles, and graphs that give something else.
func TestWhatIsNoHead(t *testing.T) {
	r := library(t)
	b, head := goldenHead(t)
	if _, err := r.OpenHead(b); err == nil ||
		!strings.Contains(err.Error(), "is of kind dense and has no head") {
		t.Errorf("a dense expert: %v", err)
	}
	other := *head
	other.Manifest = head.Manifest.Clone()
	other.Manifest.Head.Domains = []string{"two", "names"}
	if _, err := r.OpenHead(&other); err == nil {
		t.Error("a graph with another number of probabilities was opened")
	}
}
