package opensearch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"example.org/conclave/bm25"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// testCatalogue returns the catalogue of a prefix, of which nothing is there, and what makes a collection.
func testCatalogue(
	t *testing.T,
	client *cluster.Client,
	prefix string,
) (*Catalogue, func(c *Catalogue, name string) error) {
	t.Helper()
	drop := func() {
		_, _ = client.Do(context.WithoutCancel(t.Context()), "DELETE", "/"+prefix+"*?expand_wildcards=all", nil)
	}
	drop()
	t.Cleanup(drop)
	o := store.BuildOptions{
		Words: bm25.Params{K1: 0.9, B: 0.4}, Experts: []store.PassageEncoder{hashed{name: "one"}},
	}
	return NewCatalogue(client, prefix), func(c *Catalogue, name string) error {
		return c.Create(t.Context(), name, "description: of "+name+"\n", schema.Shape{Shards: 1}, o)
	}
}

// namesOf returns what a catalogue lists, a ! behind those that cannot be searched.
func namesOf(t *testing.T, c *Catalogue) string {
	t.Helper()
	all, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range all {
		if (e.Manifest == nil) != (e.Err != nil) {
			t.Errorf("%+v", e)
		}
		if e.Err != nil {
			e.Name += "!"
		}
		out = append(out, e.Name)
	}
	return strings.Join(out, " ")
}

// TestCatalogue: the collections are the indexes with the prefix that this program made, each with its settings;
// others, aliases and what is beside them are none, and one that cannot be read is named.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	c, create := testCatalogue(t, client, "several-")
	for _, name := range []string{"b", "a", "a.1-x_y"} {
		if err := create(c, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := create(c, "a"); !errors.Is(err, ErrExists) {
		t.Errorf("made twice: %v", err)
	}
	for _, name := range []string{"", "A", "-a", "a-state", "ü", "a/b", "*", "_all", strings.Repeat("x", 65)} {
		if err := create(c, name); err == nil {
			t.Errorf("%q was made", name)
		}
		if e, err := c.Find(t.Context(), name); e != nil || err != nil {
			t.Errorf("%q: %v, %v", name, e, err)
		}
	}
	_, version := wrote(t, opened1(t, client, "several-a").Register("somebody"), `{"n":0}`, "")
	for path, body := range map[string]string{
		"/several-foreign":                `{}`,
		"/several-wrong":                  `{"mappings":{"_meta":{"conclave":{"manifest":{"format":99}}}}}`,
		"/several-a/_alias/several-alias": `{}`,
	} {
		if _, err := client.Do(t.Context(), "PUT", path, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := create(c, "foreign"); !errors.Is(err, ErrExists) {
		t.Errorf("in the place of another's index: %v", err)
	}
	if got := namesOf(t, c); got != "a a.1-x_y b wrong!" {
		t.Errorf("%q", got)
	}
	for _, name := range []string{"alias", "foreign", "nothing"} {
		if e, err := c.Find(t.Context(), name); e != nil || err != nil {
			t.Errorf("%s: %v, %v", name, e, err)
		}
	}
	e, err := c.Find(t.Context(), "a")
	if err != nil || e == nil || e.Manifest.Settings != "description: of a\n" {
		t.Fatalf("%+v, %v", e, err)
	}

	// An expert that is added, and a calibration, leave the settings.
	s := opened1(t, client, "several-a")
	if err := s.Calibrate(t.Context(), "gate: here\n"); err != nil {
		t.Fatal(err)
	}
	head := hashed{name: "head", owner: "one"}
	if _, err := AddExpert(t.Context(), client, "several-a", head, store.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if m := opened1(t, client, "several-a").Manifest(); m.Settings != e.Manifest.Settings || len(m.Experts) != 2 {
		t.Errorf("%+v", m)
	}

	for _, name := range []string{"a", "wrong", "nothing"} {
		if err := c.Remove(t.Context(), name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := namesOf(t, c); got != "a.1-x_y b" {
		t.Errorf("%q", got)
	}
	if left := indexesLike(t, client, "several-a-state"); len(left) > 0 || version == "" {
		t.Errorf("%q is left", left)
	}
	if len(indexesLike(t, client, "several-foreign")) == 0 {
		t.Error("another's index is gone")
	}
}

func opened1(t *testing.T, client *cluster.Client, index string) *Store {
	t.Helper()
	s, err := Open(t.Context(), client, index)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCatalogueAfterCrashes lets who makes and who removes a collection die after each request, the last one made
// or not: the collection is there whole, or not at all, and one that is made in its place has nothing of it: no
// passage, and no change of a document that was begun.
func TestCatalogueAfterCrashes(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	c, create := testCatalogue(t, client, "crashes-")
	old := passages(1, 3)
	for _, removes := range []bool{false, true} {
		for at := int64(1); ; at++ {
			name := fmt.Sprintf("removes %v, a crash after request %d", removes, at)
			f := &faulty{to: client, random: rand.New(rand.NewPCG(1, 1)), share: 1e-9}
			dying := NewCatalogue(behind(t, f), "crashes-")
			dead, die := context.WithCancel(t.Context())
			f.before = func(n int64) bool {
				if n == at+1 {
					die()
				}
				return n > at
			}
			var err error
			if removes {
				if err := create(c, "a"); err != nil {
					t.Fatal(err)
				}
				s := opened1(t, client, "crashes-a")
				if _, err := s.Add(t.Context(), &list{passages: old}, oneExpert()); err != nil {
					t.Fatal(err)
				}
				begun(t, s, s.current().ID)
				err = dying.Remove(dead, "a")
			} else {
				o := store.BuildOptions{Words: bm25.Params{K1: 0.9, B: 0.4}, Experts: oneExpert().Experts}
				err = dying.Create(dead, "a", "", schema.Shape{Shards: 1}, o)
			}
			die()
			told := err == nil
			e, err := c.Find(t.Context(), "a")
			if err != nil || e != nil && e.Err != nil {
				t.Fatalf("%s: %+v, %v", name, e, err)
			}
			if told && (e == nil) != removes {
				t.Errorf("%s: told, and it is there: %v", name, e != nil)
			}
			if e != nil {
				opened1(t, client, "crashes-a")
				if err := c.Remove(t.Context(), "a"); err != nil {
					t.Fatal(err)
				}
			}
			if left := indexesLike(t, client, "crashes-"); len(left) > 0 {
				t.Errorf("%s: %q is left", name, left)
			}
			if told {
				if at < 2 {
					t.Errorf("no more than %d requests", at)
				}
				break
			}
		}
	}
}

// begun leaves a change of a document that its writer did not finish, beside an index: of that with an ID.
func begun(t *testing.T, s *Store, of string) {
	t.Helper()
	w, err := NewWriter(s, oneExpert().Experts, nil)
	if err != nil {
		t.Fatal(err)
	}
	changes := version(7, 2)
	var all []*attempt
	for i := range changes {
		a := &attempt{change: &changes[i], result: &store.ChangeResult{ID: changes[i].ID()}}
		if !a.checkChange() {
			t.Fatal(a.result.Err)
		}
		all = append(all, a)
	}
	data, _, err := newIntent(of, "doc.md", all)
	if err != nil {
		t.Fatal(err)
	}
	if _, done, err := w.intentOf("doc.md").Write(t.Context(), data, ""); !done || err != nil {
		t.Fatal(done, err)
	}
}

// TestNothingOfTheIndexBefore: a change of a document that was begun in an index which is gone, and that is left
// beside one which was made by its name, is neither made nor waited for.
func TestNothingOfTheIndexBefore(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	c, create := testCatalogue(t, client, "again-")
	if err := create(c, "a"); err != nil {
		t.Fatal(err)
	}
	before := opened1(t, client, "again-a")
	begun(t, before, before.current().ID)
	if _, err := client.Do(t.Context(), "DELETE", "/again-a", nil); err != nil { // and not what is beside it
		t.Fatal(err)
	}
	if err := create(c, "a"); err != nil {
		t.Fatal(err)
	}
	s := opened1(t, client, "again-a")
	w, err := NewWriter(s, oneExpert().Experts, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.undisturbed = time.Hour
	results, err := w.ApplyTogether(t.Context(), version(9, 3))
	if err != nil || results[0].Err != nil {
		t.Fatal(results, err)
	}
	if got, n := whole(t, w); got != "9" || n != 3 {
		t.Errorf("%q with %d passages", got, n)
	}
	begun(t, s, before.current().ID)
	if err := w.Mend(t.Context()); err != nil {
		t.Fatal(err)
	}
	if names, err := w.store.Register("").listPending(t.Context()); err != nil || len(names) > 0 {
		t.Errorf("%q, %v", names, err)
	}
	if got, n := whole(t, w); got != "9" || n != 3 {
		t.Errorf("%q with %d passages", got, n)
	}
}
