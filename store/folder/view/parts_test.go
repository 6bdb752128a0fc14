package view

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// reversing is a head that turns a vector's numbers round.
type reversing struct{}

func (reversing) Apply(_ context.Context, question []float32) (vector, gate []float32, err error) {
	vector = slices.Clone(question)
	slices.Reverse(vector)
	return vector, nil, nil
}

func (reversing) Domains() []string { return nil }

// TestPartsAreHighlighted: of an expert of parts, and of one that searches its vectors, a
// result has the part that the question is nearest to, with the score of the result. Of
// one of whole passages it has none.
func TestPartsAreHighlighted(t *testing.T) {
	experts := []hashed{{name: "plain"}, {name: "parts", parts: true}, {name: "head", owner: "parts"}}
	options := store.BuildOptions{Index: store.Index{Kind: "flat"}}
	var searched []learned.Expert
	for _, x := range experts {
		options.Experts = append(options.Experts, x)
		e := learned.Expert{Name: x.name, Encoder: x, Info: learned.ExpertInfo{Dimension: hashedDimension}}
		if x.owner != "" {
			e.Head = reversing{}
		}
		searched = append(searched, e)
	}
	texts := map[string]string{"a": "winter river, stone lantern", "b": "Für die Brücke: market bridge candle", "c": "one"}
	source := &list{}
	for _, id := range []string{"a", "b", "c"} {
		source.passages = append(source.passages, corpus.Passage{ID: id, Text: texts[id]})
	}
	dir := filepath.Join(t.TempDir(), "index")
	if _, err := folder.Build(t.Context(), dir, source, options); err != nil {
		t.Fatal(err)
	}
	c, err := folder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	config := engineOf(c)
	config.Experts = searched
	engine, err := search.NewEngine(config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = engine.Close(t.Context()) }()
	for _, question := range []string{"stone lantern", "market bridge", "one", "Brücke: river"} {
		for _, x := range experts {
			r, err := engine.Search(
				t.Context(), search.Caller{},
				search.Request{
					Question: question,
					Fusion:   search.Methods{Names: []string{"sum"}},
					Experts:  &[]string{x.name},
					K:        3,
					Fields:   []string{"highlights", "contributions"},
				},
			)
			if err != nil || len(r.Results) != 3 {
				t.Fatalf("%+v, %v", r, err)
			}
			for _, result := range r.Results {
				if x.name == "plain" {
					if result.Highlight != nil {
						t.Errorf("%q by whole passages: %+v", question, result.Highlight)
					}
					continue
				}
				query, _ := x.EncodeQuestion(t.Context(), question)
				if x.owner != "" {
					query, _, _ = reversing{}.Apply(t.Context(), query)
				}
				best := math.Inf(-1)
				part := ""
				words := strings.Fields(texts[result.ID])
				for i := range max(1, len(words)-1) {
					text := strings.Join(words[i:min(i+2, len(words))], " ")
					v, _ := x.EncodeQuestion(t.Context(), text)
					product := 0.0
					for j := range v {
						product += float64(v[j]) * float64(query[j])
					}
					if product > best {
						best, part = product, text
					}
				}
				h := result.Highlight
				if h == nil || h.Field != "text" || texts[result.ID][h.Start:h.End] != part || math.Abs(h.Score-best) > 1e-4 ||
					math.Abs(*result.Contributions[0].Score-best) > 1e-4 {
					t.Errorf("%q by %s: %s has %+v, its best part is %q with %v", question, x.name, result.ID, h, part, best)
				}
			}
		}
	}
}
