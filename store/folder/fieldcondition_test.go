package folder

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/testing/anycondition"
	"example.org/conclave/store"
)

// TestFieldConditions: what a condition selects is what reading each passage's metadata selects, in
// several segments, with deletions, and merged.
func TestFieldConditions(t *testing.T) {
	const seed = 42
	rng := rand.New(rand.NewPCG(seed, 1))
	e := &hashEncoder{name: "base", dimension: 8}
	passages := randomPassages(seed, 400)
	for i := range passages {
		passages[i].Metadata = anycondition.Metadata(rng)
		passages[i].Tags = []string{fmt.Sprint("t", rng.IntN(4))}
	}
	live := keyed(passages)
	dir := built(t, store.BuildOptions{Experts: []store.PassageEncoder{e}}, split(seed, passages, 3)...)
	var removed []string
	for _, p := range passages[:60] {
		removed = append(removed, p.ID)
		delete(live, p.ID)
	}
	if _, err := Delete(t.Context(), dir, removed); err != nil {
		t.Fatal(err)
	}
	check := func(name string, n int) {
		t.Helper()
		g := opened(t, dir)
		some := 0
		for range n {
			c := anycondition.Condition(rng)
			text, _ := json.Marshal(c)
			if problems := c.Check(nil); problems != nil {
				t.Fatalf("%s: %+v", text, problems)
			}
			node, problems := c.Compile(nil)
			if problems != nil {
				t.Fatalf("%s: %+v", text, problems)
			}
			s, err := g.SelectWhere(Condition{Fields: node})
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			var got, want []string
			for o := range s.Ordinals() {
				id, err := g.ID(o)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, id)
			}
			for id, p := range live {
				meets := anycondition.Meets(c, p.Tags, p.Metadata)
				if meets != node.Matches(p.Tags, p.Metadata) {
					t.Fatalf("seed %d: %s of %v, %v: a passage by itself %v, want %v", seed, text, p.Tags, p.Metadata, !meets, meets)
				}
				if meets {
					want = append(want, id)
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) || s.Len() != len(want) {
				t.Fatalf("seed %d, %s: %s selects %d:\ngot  %v\nwant %v", seed, name, text, s.Len(), got, want)
			}
			if len(want) > 0 && len(want) < len(live) {
				some++
			}
		}
		if some < n/2 {
			t.Errorf("%s: only %d of %d conditions tell passages apart", name, some, n)
		}
	}
	check("in segments", 600)
	if _, err := Verify(t.Context(), dir, nil); err != nil {
		t.Error(err)
	}
	mergeAll(t, dir)
	m, err := readManifest(disk.OS{}, dir)
	if err != nil || len(m.Segments) != 1 || m.Segments[0].Fields.Name == "" {
		t.Fatalf("%v: %+v", err, m)
	}
	check("merged", 300)
}

// TestMisfits: a comparison with a kind of values that a field has none of is told, with what the
// field holds; a field that nobody has fits everything.
func TestMisfits(t *testing.T) {
	e := &hashEncoder{name: "base", dimension: 8}
	passages := randomPassages(3, 20)
	for i := range passages {
		passages[i].Metadata = map[string]any{
			"price": float64(i), "day": "2024-05-01", "name": fmt.Sprint("n", i), "sold": true,
		}
	}
	g := opened(t, built(t, store.BuildOptions{Experts: []store.PassageEncoder{e}}, split(4, passages, 2)...))
	for text, want := range map[string]string{
		`{"field":"price","gte":10}`:                                 "",
		`{"field":"price","eq":"cheap"}`:                             `/eq the field "price" holds numbers, and "cheap" is compared with words alone`,
		`{"field":"name","lt":7}`:                                    `/lt the field "name" holds words, and 7 is compared with numbers alone`,
		`{"field":"day","gte":"2024"}`:                               `/gte the field "day" holds dates, and "2024" is compared with words alone`,
		`{"field":"day","gte":"2024-01-01"}`:                         "",
		`{"and":[{"not":{"field":"sold","eq":"yes"}}]}`:              `/and/0/not/eq the field "sold" holds booleans, and "yes" is compared with words alone`,
		`{"field":"nobody's","gte":10}`:                              "",
		`{"or":[{"field":"name","in":["a",true]}]}`:                  `/or/0/in/1 the field "name" holds words, and true is compared with booleans alone`,
		`{"field":"name","exists":false,"and":[{"tags_all":["x"]}]}`: "",
	} {
		var c conditions.Condition
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		node, problems := c.Compile(nil)
		if problems != nil {
			t.Fatalf("%s: %+v", text, problems)
		}
		problems, err := g.Misfits(&node)
		got := ""
		if len(problems) == 1 {
			got = problems[0].Pointer + " " + problems[0].Detail
		}
		if err != nil || got != want || len(problems) > 1 {
			t.Errorf("%s: %v, %q, want %q", text, err, got, want)
		}
	}
}
