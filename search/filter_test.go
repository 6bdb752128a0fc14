package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// tagged returns a stage whose passages have tags: every third "third", those with
// odd numbers "odd", the first five "few", one "one".
func tagged(names string, passages int) *stage {
	s := newStage(names, passages)
	for i := range s.library.shelf.passages {
		tags := []string{"all"}
		for tag, has := range map[string]bool{"third": i%3 == 0, "odd": i%2 == 1, "few": i < 5, "one": i == 7} {
			if has {
				tags = append(tags, tag)
			}
		}
		slices.Sort(tags)
		s.library.shelf.passages[i].Tags = tags
	}
	return s
}

// without returns the same stage with the passages alone that a filter lets through.
func without(names string, passages int, f storage.Filter) *stage {
	s := tagged(names, passages)
	all := s.library.shelf.passages
	s.library.shelf.passages, s.words.texts = nil, nil
	rows := map[string][][]float32{}
	for i, p := range all {
		has := func(tag string) bool { return slices.Contains(p.Tags, tag) }
		if len(f.TagsAny) > 0 && !slices.ContainsFunc(f.TagsAny, has) ||
			slices.ContainsFunc(f.TagsAll, func(tag string) bool { return !has(tag) }) {
			continue
		}
		s.library.shelf.passages = append(s.library.shelf.passages, p)
		s.words.texts = append(s.words.texts, p.Text)
		for name, v := range s.vectors {
			rows[name] = append(rows[name], v.rows[i])
		}
	}
	for name, v := range s.vectors {
		v.rows = rows[name]
	}
	return s
}

func someFilters() []storage.Filter {
	return []storage.Filter{
		{
			TagsAll: []string{"all"},
		}, {TagsAll: []string{"third"}}, {TagsAll: []string{"third", "odd"}}, {TagsAny: []string{"few", "one"}},
		{
			TagsAll: []string{"odd"},
			TagsAny: []string{"few", "third"},
		}, {TagsAll: []string{"one"}}, {TagsAll: []string{"nobody's"}}, {TagsAll: []string{"few"}, TagsAny: []string{"nobody's"}},
	}
}

// comparable returns an answer as it is sent, without what may differ: the times, and
// how many were selected.
func comparable(t *testing.T, r reply.Response) string {
	t.Helper()
	r.TookMS, r.Selected = 0, nil
	for i := range r.Sources {
		r.Sources[i].Took = reply.Took{}
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestFilters: a filtered search answers as if there were no other passages, by
// every method, exact or not, whatever is done about missing scores.
func TestFilters(t *testing.T) {
	const n = 60
	for _, names := range []string{"AB", "ab", "A"} {
		methods := []string{fusion.MethodRRF, fusion.MethodSum, MethodAuto}
		if names != "ab" {
			methods = append(methods, fusion.MethodMUF, fusion.MethodMUFSparse, fusion.MethodHybrid)
		}
		for _, f := range someFilters() {
			for _, missing := range missingValues() {
				for _, exact := range []bool{false, true} {
					r := Request{
						Question: askedOften,
						Fusion:   listOf(methods...),
						K:        30,
						Missing:  string(missing),
						Exact:    exact,
						Fields:   []string{"title", "tags", "contributions", "sources"},
						Explain:  true,
					}
					want := comparable(t, without(names, n, f).ask(t, r))
					r.Filter = f
					got := tagged(names, n).ask(t, r)
					selected := len(without(names, n, f).library.shelf.passages)
					if got.Selected == nil || *got.Selected != selected {
						t.Fatalf("%+v: %v selected, want %d", f, got.Selected, selected)
					}
					if got := comparable(t, got); got != want {
						t.Fatalf("%s, %+v, missing %s, exact %v:\ngot  %s\nwant %s", names, f, missing, exact, got, want)
					}
				}
			}
		}
	}
	if got := tagged("a", n).ask(t, Request{Question: askedOften}); got.Selected != nil {
		t.Error("without a filter, a number of selected passages")
	}
}

// TestUnknownTag: no results, which is no error.
func TestUnknownTag(t *testing.T) {
	for _, method := range []string{fusion.MethodRRF, fusion.MethodSum, fusion.MethodHybrid, fusion.MethodMUF,
		fusion.MethodMUFSparse, MethodAuto} {
		got := tagged("AB", 30).ask(t, Request{Question: askedOften, Fusion: methodsOf(method),
			Filter: storage.Filter{TagsAny: []string{"nobody's", "Third"}}})
		if got.Results == nil || len(got.Results) != 0 || *got.Selected != 0 || len(got.Degraded) != 0 {
			t.Errorf("%s: %+v", method, got)
		}
		for _, s := range got.Sources {
			if s.Status != reply.StatusOK || s.Hits != 0 {
				t.Errorf("%s: %+v", method, s)
			}
		}
	}
}

// TestFilterWithASourceLess: what is fused without a source that failed is
// filtered all the same.
func TestFilterWithASourceLess(t *testing.T) {
	s := tagged("ab", 40)
	s.encoders["b"].hook = func(context.Context) error { return errors.New("broken") }
	got := s.ask(
		t,
		Request{
			Question: askedOften,
			Fusion:   methodsOf(fusion.MethodRRF),
			K:        30,
			Fields:   []string{"tags", "contributions", "sources"},
			Filter:   storage.Filter{TagsAll: []string{"third"}},
		},
	)
	if len(got.Degraded) != 1 || got.Degraded[0].Source != "b" || len(got.Results) != 14 {
		t.Fatalf("%d results, degraded %+v", len(got.Results), got.Degraded)
	}
	for _, r := range got.Results {
		if !slices.Contains(r.Tags, "third") {
			t.Errorf("%+v", r)
		}
	}
}

// TestFilterFails: where the passages cannot be selected, nobody is asked
// without the filter.
func TestFilterFails(t *testing.T) {
	broken := errors.New("a damaged file")
	for _, c := range []struct {
		among func(context.Context) error
		kind  fault.ErrorKind
	}{
		{func(context.Context) error { return broken }, fault.Unavailable},
		{func(context.Context) error { panic("a bug") }, fault.Unavailable},
		{func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, fault.Deadline},
	} {
		s := tagged("ab", 20)
		s.library.shelf.among = c.among
		began := time.Now()
		e := s.refused(t, Request{Question: askedOften, TimeoutMS: 20, Filter: storage.Filter{TagsAll: []string{"third"}}})
		if e.Kind != c.kind || s.encoders["a"].calls.Load() > 0 {
			t.Errorf("kind %v, %v, after %v", e.Kind, e, time.Since(began))
		}
		if c.kind == fault.Unavailable && !strings.Contains(e.Detail, "the filter lets through") {
			t.Errorf("%v", e)
		}
		if s.library.pinned.Load() != 0 {
			t.Error("a generation is still pinned")
		}
	}
}

// TestFilterLimits: too many tags, too long ones and empty ones are named.
func TestFilterLimits(t *testing.T) {
	s := tagged("a", 20)
	many, long := slices.Repeat([]string{"a"}, storage.MaxFilterTags+1), strings.Repeat("x", corpus.MaxTagBytes+1)
	for pointer, c := range map[string]struct {
		filter storage.Filter
		code   string
		detail string
	}{
		"/filter/tags_all": {storage.Filter{TagsAll: many}, "too_many_tags", "there are 16385 tags: at most 16384"},
		"/filter/tags_any": {storage.Filter{TagsAll: []string{"a"}, TagsAny: many}, "too_many_tags", "at most 16384"},
		"/filter/tags_any/1": {storage.Filter{TagsAny: []string{"a", long}}, "tag_too_long",
			fmt.Sprintf("has %d bytes: at most %d", corpus.MaxTagBytes+1, corpus.MaxTagBytes)},
		"/filter/tags_all/0": {storage.Filter{TagsAll: []string{" "}}, "empty_tag", "is empty"},
	} {
		e := s.refused(t, Request{Question: askedOften, Filter: c.filter})
		if e.Kind != fault.Invalid || e.Code != c.code || len(e.Fields) != 1 || e.Fields[0].Pointer != pointer ||
			!strings.Contains(e.Detail, c.detail) {
			t.Errorf("%+v: %+v", c.filter, e)
		}
	}
}

// TestFiltersInABatch: each search has its own.
func TestFiltersInABatch(t *testing.T) {
	s := tagged("AB", 40)
	engine := s.engine(t)
	var requests []Request
	for _, f := range someFilters() {
		requests = append(requests, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodSum), K: 30, Filter: f})
	}
	requests = append(requests, Request{Question: askedOften, Filter: storage.Filter{TagsAll: []string{""}}})
	answers, err := answersOf(context.Background(), engine, requests)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range someFilters() {
		want := comparable(
			t, without("AB", 40, f).ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodSum), K: 30}),
		)
		if got := comparable(t, answers[i].Response); answers[i].Err != nil || got != want {
			t.Errorf("%+v: %v\ngot  %s\nwant %s", f, answers[i].Err, got, want)
		}
	}
	if kindOf(answers[len(requests)-1].Err) != fault.Invalid {
		t.Errorf("%+v", answers[len(requests)-1])
	}
	if err := engine.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}
