package search

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/identity"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// hiding returns a stage without the passages that are hidden, by their ids or those of their documents.
func (s *stage) hiding(hidden []string) {
	var keep []int
	for i, p := range s.library.shelf.passages {
		document, _, _ := corpus.SplitPassageID(p.ID)
		if !slices.Contains(hidden, p.ID) && !slices.Contains(hidden, document) {
			keep = append(keep, i)
		}
	}
	passages, texts := s.library.shelf.passages, s.words.texts
	s.library.shelf.passages, s.words.texts = nil, nil
	for _, i := range keep {
		s.library.shelf.passages = append(s.library.shelf.passages, passages[i])
		s.words.texts = append(s.words.texts, texts[i])
	}
	for _, v := range s.vectors {
		rows := v.rows
		v.rows = nil
		for _, i := range keep {
			v.rows = append(v.rows, rows[i])
		}
	}
}

// pinned is the plain reference of pins: the ids first, of a document the passage that ranks highest, then the rest of
// a ranking in its order, and of one that has none there the first. all has every passage, the ranked ones first.
func pinned(all []reply.Result, ranked int, pins []string) (out []reply.Result) {
	for _, id := range pins {
		at := -1
		for i, r := range all {
			document, _, _ := corpus.SplitPassageID(r.ID)
			if r.ID == id || document == id && (at < 0 || at >= ranked && r.ID < all[at].ID) {
				at = i
			}
		}
		if at >= 0 && !slices.ContainsFunc(out, func(r reply.Result) bool { return r.ID == all[at].ID }) {
			r := all[at]
			r.Pinned = true
			out = append(out, r)
		}
	}
	n := len(out)
	for _, r := range all {
		if !slices.ContainsFunc(out[:n], func(p reply.Result) bool { return p.ID == r.ID }) {
			out = append(out, r)
		}
	}
	for i := range out {
		out[i].Rank = i + 1
	}
	return out
}

// search returns the response to a request, of which nothing else is checked.
func (s *stage) search(t *testing.T, r Request) reply.Response {
	t.Helper()
	engine := s.engine(t)
	response, err := engine.Search(t.Context(), Caller{}, r)
	if err == nil {
		err = engine.Close(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// lines returns results as they are compared: rank, id, score, whether an administrator chose them.
func lines(all []reply.Result) (out []string) {
	for _, r := range all {
		out = append(out, fmt.Sprintf("%d %s %.4f %v", r.Rank, r.ID, r.Score, r.Pinned))
	}
	return out
}

// TestOverrides: for drawn entries, pages, methods and ways to complete scores, results are those of a collection that
// lacks what is hidden, with the pinned ones before; all else of the answer is as without pins.
func TestOverrides(t *testing.T) {
	const seed, n = 58, 48
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for try := range 60 {
		names := []string{"AB", "ab"}[try%2]
		s := newStage(names, n)
		s.inDocuments()
		id := func() string {
			p := s.library.shelf.passages[random.IntN(n)].ID
			if document, _, ok := corpus.SplitPassageID(p); ok && random.IntN(4) == 0 {
				return document
			}
			return p
		}
		entry := CollectionOverride{Override: ask.Override{Questions: []string{"  " + askedOften + " ?!"}}}
		for range random.IntN(4) {
			entry.Pin = append(entry.Pin, id())
		}
		for range random.IntN(3) {
			entry.Hide = append(entry.Hide, id())
		}
		other := CollectionOverride{Override: ask.Override{Contains: []string{"a phrase of others"}, Hide: []string{id()}}}
		request := Request{
			Question: askedOften, Fusion: methodsOf([]string{"rrf", "sum"}[random.IntN(2)]), K: 1 + random.IntN(8),
			Offset: random.IntN(6), Candidates: 10,
		}
		if request.Fusion.Names[0] != "rrf" {
			request.Missing = "exact"
		}
		whole := request
		whole.Offset, whole.K = 0, n
		plain := newStage(names, n)
		plain.inDocuments()
		plain.hiding(entry.Hide)
		found := plain.search(t, whole).Results
		deep := whole
		deep.Candidates = n
		all := plain.search(t, deep).Results
		for _, r := range all { // what no source had among its candidates can be pinned all the same
			if !slices.ContainsFunc(found, func(f reply.Result) bool { return f.ID == r.ID }) {
				found = append(found, r)
			}
		}
		kept := len(plain.search(t, whole).Results)
		want := pinned(found, kept, entry.Pin)
		pins := 0
		for pins < len(want) && want[pins].Pinned {
			pins++
		}
		want = slices.DeleteFunc(want, func(r reply.Result) bool {
			return !r.Pinned && slices.IndexFunc(found, func(f reply.Result) bool { return f.ID == r.ID }) >= kept
		})
		want = want[min(request.Offset, len(want)):min(request.Offset+request.K, len(want))]

		s.config.Defaults.Overrides = []CollectionOverride{other, entry}
		got := s.search(t, request)
		gotLines, wantLines := lines(got.Results), lines(want)
		for i := range want {
			at := slices.IndexFunc(found, func(f reply.Result) bool { return f.ID == want[i].ID })
			if i < len(got.Results) && at >= kept {
				gotLines[i], wantLines[i] = got.Results[i].ID, want[i].ID // scored among other candidates
			}
		}
		if !slices.Equal(gotLines, wantLines) {
			t.Fatalf("try %d, %+v, pin %v, hide %v:\ngot  %q\nwant %q", try, request, entry.Pin, entry.Hide, gotLines, wantLines)
		}
		without := plain.search(t, request)
		got.Results, without.Results = nil, nil
		if g, w := comparable(t, got), comparable(t, without); g != w {
			t.Fatalf("try %d: the rest of the answer is\n%s\nwithout overrides\n%s", try, g, w)
		}
	}
}

// TestOverriddenGroups: the group of a pinned passage is the first, and the others follow in their order.
func TestOverriddenGroups(t *testing.T) {
	s := newStage("ab", 48)
	s.inDocuments()
	request := Request{Question: askedOften, Fusion: methodsOf("rrf"), GroupBy: ask.GroupByDocument, K: 4}
	plain := s.search(t, request)
	whole := request
	whole.K = 12
	all := s.search(t, whole).Groups
	last := all[len(all)-1]
	s.config.Defaults.Overrides = []CollectionOverride{{Override: ask.Override{
		Questions: []string{askedOften}, Pin: []string{last.Document.ID},
	}}}
	got := s.search(t, request)
	if len(got.Groups) != 4 || got.Groups[0].Document.ID != last.Document.ID || !got.Groups[0].Results[0].Pinned ||
		len(got.Groups[0].Results) != len(last.Results) {
		text, _ := json.Marshal(got.Groups)
		t.Fatalf("%s", text)
	}
	for i, g := range got.Groups[1:] {
		if g.Document.ID != plain.Groups[i].Document.ID || g.Rank != i+2 {
			t.Errorf("group %d is %s, want %s", g.Rank, g.Document.ID, plain.Groups[i].Document.ID)
		}
	}
}

// TestOverridesOfAFilter: a pinned passage that the filter does not let through is left out, and explain says what was
// pinned and hidden.
func TestOverridesOfAFilter(t *testing.T) {
	s := tagged("ab", 40)
	s.config.Defaults.Overrides = []CollectionOverride{{Override: ask.Override{
		Contains: []string{"CAT"}, Pin: []string{"p008", "p009", "nowhere"}, Hide: []string{"p001"},
	}}}
	request := Request{
		Question: "the red cat", Filter: storage.Filter{TagsAll: []string{"odd"}}, Explain: true,
		Fusion: methodsOf(fusion.MethodRRF),
	}
	got := s.search(t, request)
	if got.Overridden == nil || !slices.Equal(got.Overridden.Pinned, []string{"p009"}) ||
		!slices.Equal(got.Overridden.Hidden, []string{"p001"}) || got.Results[0].ID != "p009" || *got.Selected != 19 {
		t.Errorf("%+v, %+v, %v", got.Overridden, got.Results[0], *got.Selected)
	}
	request.Question = "the red catalogue"
	if got := s.search(t, request); got.Overridden != nil || *got.Selected != 20 {
		t.Errorf("%+v", got.Overridden)
	}
}

// TestOverridesOfARestrictedCaller: a caller gets no pinned passage that it may not find, and is not told what is
// hidden.
func TestOverridesOfARestrictedCaller(t *testing.T) {
	s := tagged("ab", 40)
	s.config.Defaults.Overrides = []CollectionOverride{{Override: ask.Override{
		Questions: []string{askedOften}, Pin: []string{"p008", "p009"}, Hide: []string{"p001"},
	}}}
	engine := s.engine(t)
	ctx := identity.Restrict(t.Context(), &conditions.Condition{TagsAll: []string{"odd"}})
	got, err := engine.Search(
		ctx, Caller{}, Request{Question: askedOften, Explain: true, Fusion: methodsOf(fusion.MethodRRF)},
	)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Overridden.Pinned, []string{"p009"}) || got.Overridden.Hidden != nil || got.Results[0].ID != "p009" {
		t.Errorf("%+v", got.Overridden)
	}
	for _, r := range got.Results {
		if r.ID == "p008" || r.ID == "p001" {
			t.Errorf("%+v", r)
		}
	}
}
