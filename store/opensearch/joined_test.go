package opensearch

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
	embedded "example.org/conclave/store/folder/view"
	"example.org/conclave/store/opensearch/schema"
)

// TestJoinedAsEmbedded: a search over two indexes has the passages, the order, the scores, the corrections and the
// facets of one over the same two collections in folders, and says of which each passage is, also where one id is in
// both; by words and by vectors, with a condition and with words that must be there.
func TestJoinedAsEmbedded(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	options := store.BuildOptions{Words: bm25.DefaultParams(), Index: store.Index{Kind: "flat"}, Threads: 1}
	options.Words.Phrases = true
	options.Words.Analysis = forms.Unicode
	options.Experts = []store.PassageEncoder{hashed{name: "base"}}
	given := [2][]corpus.Passage{}
	for i, text := range shop {
		in := i % 2 // each id is in both
		given[in] = append(given[in], corpus.Passage{ID: corpus.PassageID("doc", 1+i/2), Text: text,
			Metadata: map[string]any{"price": json.Number(fmt.Sprint(i)), "shelf": fmt.Sprint("s", i%3)}})
	}
	names := []string{"first", "second"}
	var fars []*Corpus
	var nears []*folder.Collection
	for i, of := range given {
		own := options
		if i == 1 { // which the first lacks
			own.Experts = append(slices.Clone(own.Experts), hashed{name: "other"})
		}
		dir := t.TempDir() + "/" + names[i]
		if _, err := folder.Build(t.Context(), dir, &list{passages: of}, own); err != nil {
			t.Fatal(err)
		}
		nears = append(nears, collectionIn(t, dir))
		index := testIndex(t, client, "joined-"+names[i])
		if _, err := Build(t.Context(), client, index, schema.Shape{Shards: 2}, &list{passages: of}, own, ""); err != nil {
			t.Fatal(err)
		}
		target, err := Open(t.Context(), client, index)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := NewCorpus(t.Context(), target)
		if err == nil {
			err = shown.ReadSample(t.Context())
		}
		if err == nil {
			err = shown.ReadWords(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		fars = append(fars, shown)
	}
	far, err := Join(fars, names)
	if err != nil {
		t.Fatal(err)
	}
	near, err := embedded.Join(nears, names)
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	if got, want := far.Experts(), near.Experts(); !slices.Equal(got, want) || len(got) != 1 {
		t.Errorf("the experts are %v, not %v", got, want)
	}
	engines := [2]*search.Engine{engineOver(t, far), engineOver(t, near)}
	dear := conditions.Condition{Field: "price", Gte: new(conditions.Number(4)), Lt: new(conditions.Number(13))}
	facets := []ask.FacetRequest{{Field: "shelf"}, {Field: "price"}}
	compared, both := 0, 0
	for _, question := range []string{
		"windmill by the lake", "when are refunds paid", "to be or not to be paid", "jose nunez", "a windmlil at the lkae",
		"wifi at night",
	} {
		for name, r := range map[string]search.Request{
			"all":       {Exact: true, Explain: true},
			"words":     {Experts: &[]string{}, Explain: true},
			"vectors":   {BM25: new(bool), Exact: true},
			"condition": {Exact: true, Filter: storage.Filter{Condition: dear}, Facets: facets},
			"few":       {Exact: true, Candidates: 5, Explain: true, Missing: "exact"},
			"must":      {Exact: true, Must: []string{"the"}},
		} {
			r.Question = question
			r.Around = 1
			r.K = 20
			var said [2]reply.Response
			for i, e := range engines {
				said[i], err = e.Search(t.Context(), search.Caller{}, r)
				if err != nil || len(said[i].Degraded) > 0 {
					t.Fatalf("%s, %s: %v, %+v", question, name, err, said[i].Degraded)
				}
			}
			shows := func(of reply.Response) (out []string, scores map[string]float64) {
				scores = map[string]float64{}
				for _, x := range of.Results {
					terms := []string{}
					for _, term := range x.Explanation {
						terms = append(terms, fmt.Sprintf("%s %d %.4f %.4f", term.Term, term.DocFrequency, term.IDF, term.Score))
					}
					slices.Sort(terms)
					shown := fmt.Sprint(x.Collection, " ", x.ID, " ", x.Before, "|", x.Text, "|", x.After, " ", terms)
					out = append(out, shown)
					scores[shown] = x.Score
				}
				slices.Sort(out) // equal scores
				return out, scores
			}
			got, gotScores := shows(said[0])
			want, wantScores := shows(said[1])
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s:\n%s\nwant\n%s", question, name, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			for shown, score := range wantScores {
				if math.Abs(gotScores[shown]-score) > 1e-4 {
					t.Errorf("%s, %s: %s has %v, not %v", question, name, shown, gotScores[shown], score)
				}
			}
			if !reflect.DeepEqual(said[0].Facets, said[1].Facets) || !reflect.DeepEqual(said[0].Corrected, said[1].Corrected) ||
				!reflect.DeepEqual(said[0].Selected, said[1].Selected) {
				t.Errorf("%s, %s: %+v %v, want %+v %v", question, name,
					said[0].Facets, said[0].Corrected, said[1].Facets, said[1].Corrected)
			}
			seen := map[string]string{}
			for i, x := range said[0].Results {
				if i > 0 && x.Score > said[0].Results[i-1].Score {
					t.Errorf("%s, %s: %v follows %v", question, name, x.Score, said[0].Results[i-1].Score)
				}
				if seen[x.ID] != "" && seen[x.ID] != x.Collection {
					both++
				}
				seen[x.ID] = x.Collection
				compared++
			}
		}
	}
	if compared < 60 || both < 10 {
		t.Errorf("%d results, %d of an id that is in both", compared, both)
	}
	a, b := far.Acquire(), near.Acquire()
	defer a.Release()
	defer b.Release()
	sampled := func(v storage.View) (out []string) {
		passages, err := v.Passages().Read(t.Context(), v.Passages().Sample(128))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range passages {
			out = append(out, p.ID+p.Text)
		}
		slices.Sort(out)
		return out
	}
	if got, want := sampled(a), sampled(b); !slices.Equal(got, want) || len(got) != len(shop) {
		t.Errorf("%v, want %v", got, want)
	}
}
