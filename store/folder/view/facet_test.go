package view

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/testing/anycondition"
	"example.org/conclave/search"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/reply"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// countsOf counts the values of a field, by what they are written as in JSON.
func countsOf(passages []corpus.Passage, field string) map[string]int {
	out := map[string]int{}
	for _, p := range passages {
		if v, ok := conditions.ValueOf(p.Metadata[field]); ok {
			if v == conditions.Number(0) {
				v = conditions.Number(0) // and not -0
			}
			out[v.String()]++
		}
	}
	return out
}

// dated returns an engine over passages with random metadata, in two segments, some replaced.
func dated(t *testing.T, seed uint64, n int) (*search.Engine, []corpus.Passage) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	dir := filepath.Join(t.TempDir(), "index")
	options := store.BuildOptions{
		Experts: []store.PassageEncoder{hashed{name: "base"}}, Index: store.Index{Kind: "flat"},
		Words: bm25.DefaultParams(), Threads: 1,
	}
	var passages []corpus.Passage
	for i := range n {
		m := anycondition.Metadata(rng)
		if colour, is := m["colour"].(string); is && len(colour) > conditions.MaxWordBytes {
			delete(m, "colour")
		}
		passages = append(passages, corpus.Passage{ID: fmt.Sprintf("p%03d", i), Metadata: m,
			Text: fmt.Sprint("ferry ", []string{"bridge", "island", "storm"}[rng.IntN(3)], " number ", i)})
	}
	if _, err := folder.Build(t.Context(), dir, &list{passages: passages[:n/2]}, options); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		passages[i].Metadata = map[string]any{"colour": "new", "price": 4.5}
	}
	options.Replace = true
	if _, err := added(t, dir, &list{passages: slices.Concat(passages[n/2:], passages[:5])}, options); err != nil {
		t.Fatal(err)
	}
	return engineIn(t, dir), passages
}

// TestFacets: counts are those of the passages that meet the filter, each value of a list once, and of
// the candidates.
func TestFacets(t *testing.T) {
	engine, passages := dated(t, 31, 160)
	for _, c := range []conditions.Condition{{}, {Field: "price", Gte: new(conditions.Number(3))},
		{Not: &conditions.Condition{Field: "sold", Eq: new(conditions.Bool(true))}}, {Field: "nobody", Exists: new(true)}} {
		r := search.Request{Question: "ferry storm", K: 5, Candidates: 20, TimeoutMS: 10_000, Collapse: new(false),
			Fusion: search.Methods{Names: []string{"rrf"}}}
		r.Filter.Condition = c
		var among []corpus.Passage
		for _, p := range passages {
			if anycondition.Meets(c, p.Tags, p.Metadata) {
				among = append(among, p)
			}
		}
		for _, field := range []string{"colour", "cell", "sold", "any", "price", "born", "day", "nobody"} {
			for _, size := range []int{3, 1000} {
				r.Facets = []ask.FacetRequest{{Field: field, Size: size}}
				response, err := engine.Search(t.Context(), search.Caller{}, r)
				if err != nil || len(response.Facets) != 1 {
					t.Fatal(err, response.Facets)
				}
				got := response.Facets[0]
				want := countsOf(among, field)
				all := got.Other
				for i, v := range got.Selected {
					if want[v.Value.String()] != v.Count || i > 0 && got.Selected[i-1].Count < v.Count {
						t.Errorf("%s %+v: %v has %d, want %d", field, c, v.Value, v.Count, want[v.Value.String()])
					}
					all += v.Count
				}
				sum := 0
				for _, n := range want {
					sum += n
				}
				if all != sum || len(got.Selected) != min(size, len(want)) {
					t.Errorf("%s %+v: %d in all, want %d; %d values of %d", field, c, all, sum, len(got.Selected), len(want))
				}
				found := 0
				for _, v := range got.Candidates {
					found += v.Count
				}
				if size == 1000 && (found > 40 || found > sum) {
					t.Errorf("%s %+v: %d candidates", field, c, found)
				}
			}
		}
	}
}

// TestSortAndBoost: sorted, the candidates are in the order of the field, those without it last; boosted,
// what is added is the half-life's, and contributions add up to the score.
func TestSortAndBoost(t *testing.T) {
	engine, passages := dated(t, 32, 60)
	byID := map[string]corpus.Passage{}
	for _, p := range passages {
		byID[p.ID] = p
	}
	r := search.Request{Question: "ferry storm", K: 100, Candidates: 100, TimeoutMS: 10_000, Collapse: new(false),
		Fusion: search.Methods{Names: []string{"sum"}}, Fields: []string{"contributions", "metadata"}}
	plain := asked(t, engine, r)
	r.Sort = ask.Sort{Field: "born", Order: "desc"}
	sorted := asked(t, engine, r)
	if len(sorted) != len(plain) || len(plain) != len(passages) {
		t.Fatalf("%d sorted, %d plain", len(sorted), len(plain))
	}
	year := func(x reply.Result) float64 {
		v, ok := conditions.ValueOf(byID[x.ID].Metadata["born"])
		if !ok {
			return math.Inf(-1)
		}
		return v.Any().(float64)
	}
	if !slices.IsSortedFunc(sorted, func(x, y reply.Result) int { return cmp.Compare(year(y), year(x)) }) {
		for _, x := range sorted {
			t.Log(x.ID, year(x))
		}
		t.Error("out of order")
	}
	scores := map[string]float64{}
	for _, x := range plain {
		scores[x.ID] = x.Score
	}
	spread := plain[0].Score - plain[len(plain)-1].Score
	r.Sort = ask.Sort{}
	r.Boost = ask.Boost{Field: "day", HalfLife: "365d", Weight: 0.5}
	for i, x := range asked(t, engine, r) {
		sum, gain := 0.0, 0.0
		for _, c := range x.Contributions {
			sum += c.Contribution
			if c.Origin == reply.OriginBoost {
				gain = c.Contribution
			}
		}
		want := 0.0
		if text, is := byID[x.ID].Metadata["day"].(string); is {
			day, err := time.Parse(time.DateOnly, text)
			if err != nil {
				t.Fatal(err)
			}
			want = 0.5 * spread * math.Pow(0.5, time.Since(day).Hours()/24/365)
		}
		if math.Abs(gain-want) > 1e-3*spread || math.Abs(sum-x.Score) > 1e-6 || math.Abs(x.Score-scores[x.ID]-gain) > 1e-6 {
			t.Errorf("%d. %s: gains %v, want %v; %v in all, score %v", i, x.ID, gain, want, sum, x.Score)
		}
	}
	for _, wrong := range []search.Request{
		{Question: "a", Sort: ask.Sort{Field: "born", Order: "up"}},
		{Question: "a", Sort: ask.Sort{Order: "desc"}},
		{Question: "a", Sort: ask.Sort{Field: "born"}, GroupBy: "document"},
		{Question: "a", Boost: ask.Boost{Field: "day", HalfLife: "ninety"}},
		{Question: "a", Boost: ask.Boost{Field: "day", HalfLife: "9d", Weight: -1}},
		{Question: "a", Facets: []ask.FacetRequest{{Field: "day", Size: 5000}}},
	} {
		if _, err := engine.Search(t.Context(), search.Caller{}, wrong); err == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
}
