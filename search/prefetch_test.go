package search

import (
	"context"
	"errors"
	"slices"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// distant is a corpus whose indexes score nothing that was not fetched before.
type distant struct {
	*library
	fetched *[][]rank.Ordinal
	fails   error
	gone    []rank.Ordinal // before their scores are fetched
	deleted string         // before its text is
}

func (d distant) Acquire() storage.View { return distantView{d.library.Acquire(), d} }

type distantView struct {
	storage.View
	of distant
}

func (v distantView) Prefetch(_ context.Context, passages []rank.Ordinal) ([]rank.Ordinal, error) {
	*v.of.fetched = append(*v.of.fetched, slices.Clone(passages))
	return v.of.gone, v.of.fails
}

func (v distantView) Passages() storage.Passages {
	return distantPassages{v.View.Passages(), v.of.deleted}
}

type distantPassages struct {
	storage.Passages
	deleted string
}

func (p distantPassages) Read(ctx context.Context, ordinals []rank.Ordinal) ([]corpus.Passage, error) {
	read, err := p.Passages.Read(ctx, ordinals)
	for i := range read {
		if read[i].ID == p.deleted {
			read[i] = corpus.Passage{ID: p.deleted}
		}
	}
	return read, err
}

// TestPrefetch: before scores are asked for, the view is told once of all candidates. It
// is told nothing where no source is asked for more, and an answer without what it could
// not fetch is an error.
func TestPrefetch(t *testing.T) {
	s := newStage("ab", 60)
	var fetched [][]rank.Ordinal
	d := distant{library: s.library, fetched: &fetched}
	s.config.Corpus = d
	all := s.ask(t, Request{Question: askedOften, Fusion: methodsOf("sum"), Candidates: 20, K: 100})
	if len(fetched) != 1 || len(fetched[0]) != len(all.Results) || !slices.IsSorted(fetched[0]) {
		t.Errorf("of %d candidates it was told %v", len(all.Results), fetched)
	}
	fetched = nil
	s.ask(t, Request{Question: askedOften, Fusion: methodsOf("sum"), Candidates: 20, Missing: "min"})
	if len(fetched) != 0 {
		t.Errorf("nothing is missing, and it was told %v", fetched)
	}
	d.fails = errors.New("no such node")
	s.config.Corpus = d
	if e := s.refused(t, Request{Question: askedOften, Fusion: methodsOf("sum")}); e.Kind != fault.Unavailable ||
		!errors.Is(e, d.fails) {
		t.Errorf("%+v", e)
	}
}

// TestDeletedMeanwhile: passages that are deleted while a question is answered are left out
// of the answer, and nothing else changes: neither the order of the others nor that every
// source is there.
func TestDeletedMeanwhile(t *testing.T) {
	s := newStage("ab", 60)
	var fetched [][]rank.Ordinal
	ask := func(d distant, k int) reply.Response {
		d.library = s.library
		d.fetched = &fetched
		s.config.Corpus = d
		return s.ask(t, Request{Question: askedOften, Fusion: methodsOf("sum"), Candidates: 20, K: k})
	}
	ids := func(r reply.Response) (out []string) {
		for i, x := range r.Results {
			if x.Rank != i+1 || x.Text == "" || len(r.Degraded) > 0 {
				t.Errorf("%+v, without %+v", x, r.Degraded)
			}
			out = append(out, x.ID)
		}
		return out
	}
	all := ids(ask(distant{}, 10))
	first, _, err := s.library.shelf.Ordinal(context.Background(), all[0])
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(ask(distant{gone: []rank.Ordinal{first}}, 9)); slices.Contains(got, all[0]) || len(got) != 9 {
		t.Errorf("gone before it is scored: %v, and %v with it", got, all)
	}
	if got, want := ids(ask(distant{deleted: all[3]}, 10)), slices.Concat(all[:3], all[4:]); !slices.Equal(got, want) {
		t.Errorf("gone before it is read: %v, want %v", got, want)
	}

	e := s.engine(t) // as it was set up last
	defer func() { _ = e.Close(context.Background()) }()
	listed, next, err := e.List(context.Background(), Caller{}, "", 60)
	if err != nil || next != "" || len(listed) != 59 {
		t.Errorf("listed are %d, then %q: %v", len(listed), next, err)
	}
	listed, next, err = e.List(context.Background(), Caller{}, before(all[3]), 1)
	if err != nil || next != all[3] || len(listed) != 0 {
		t.Errorf("a page of one that is gone: %v, then %q: %v", listed, next, err)
	}
	if _, _, err := e.Passage(context.Background(), Caller{}, all[3]); kindOf(err) != fault.NotFound {
		t.Errorf("by its id: %v", err)
	}
}

// before returns an id that only comes before id, as ids of three digits are.
func before(id string) string { return id[:len(id)-1] + string(id[len(id)-1]-1) + "z" }
