package encoder

import (
	"math"
	"testing"

	"example.org/conclave/models"
	"example.org/conclave/models/convert/tiny"
)

// TestPrefix: a bundle's prefixes come before what is encoded, on each side its own: the
// vectors are those that an encoder without prefixes gives for the texts with them.
func TestPrefix(t *testing.T) {
	r := library(t)
	for _, template := range []string{models.TemplateText, models.TemplateTitleDotText, models.TemplatePair} {
		plain := open(t, r, bundle(t, tiny.Expert{Template: template}), Running{})
		with := bundle(t, tiny.Expert{Template: template})
		with.Manifest.Vectors.Prefix = models.Prefix{Question: "river question ", Passage: "house passage "}
		prefixed := open(t, r, with, Running{})
		encode := func(e *Encoder, question, title, text string) (q, p []float32) {
			t.Helper()
			q, err := e.EncodeQuestion(t.Context(), question)
			if err != nil {
				t.Fatal(err)
			}
			all, err := e.EncodePassages(t.Context(), []Text{{Title: title, Text: text}})
			if err != nil {
				t.Fatal(err)
			}
			return q, all[0]
		}
		q, p := encode(prefixed, "the old tree", "Tree", "the house by the river")
		wantQ, wantP := encode(plain, "river question the old tree", "house passage Tree", "the house by the river")
		if template == models.TemplateText {
			wantQ, wantP = encode(plain, "river question the old tree", "", "house passage the house by the river")
		}
		bareQ, bareP := encode(plain, "the old tree", "Tree", "the house by the river")
		if distance(q, wantQ) > 1e-5 || distance(p, wantP) > 1e-5 || distance(q, bareQ) < 1e-3 || distance(p, bareP) < 1e-3 {
			t.Errorf(
				"%s: question %g from the text with its prefix and %g from that without, passage %g and %g",
				template,
				distance(q, wantQ),
				distance(q, bareQ),
				distance(p, wantP),
				distance(p, bareP),
			)
		}
		_, p = encode(prefixed, "x", "", "the house by the river")
		if _, want := encode(plain, "x", "", "house passage the house by the river"); distance(p, want) > 1e-5 {
			t.Errorf("%s: without a title the passage is %g away", template, distance(p, want))
		}
		if n, _ := prefixed.QuestionTokens("the old tree"); n <= 5 {
			t.Errorf("%s: %d tokens of a question with its prefix", template, n)
		}
	}
}

// distance returns the largest difference of two vectors in a component.
func distance(a, b []float32) (most float64) {
	for i := range a {
		most = max(most, math.Abs(float64(a[i]-b[i])))
	}
	return most
}
