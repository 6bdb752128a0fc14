package ahead

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// passages is a source of a build.
type passages struct {
	list []corpus.Passage
	at   int
}

func (p *passages) Next() (corpus.Passage, error) {
	if p.at == len(p.list) {
		return corpus.Passage{}, io.EOF
	}
	p.at++
	return p.list[p.at-1], nil
}

func (p *passages) Place() corpus.Place      { return corpus.Place{} }
func (p *passages) Progress() (int64, int64) { return int64(p.at), int64(len(p.list)) }

// live builds a collection of words alone and opens it.
func live(t *testing.T, list []corpus.Passage, experts ...store.PassageEncoder) *folder.Live {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "c")
	options := store.BuildOptions{Experts: experts, Index: store.Index{Kind: "flat"}}
	if _, err := folder.Build(t.Context(), dir, &passages{list: list}, options); err != nil {
		t.Fatal(err)
	}
	l, err := folder.OpenLive(
		dir,
		folder.LiveOptions{
			Build:         options,
			FlushAfter:    time.Millisecond,
			FlushPassages: 50,
			Merge:         folder.MergePolicy{Factor: 3, Smallest: 100},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func put(t *testing.T, l *folder.Live, list ...corpus.Passage) {
	t.Helper()
	var changes []store.Change
	for i := range list {
		changes = append(changes, store.Change{Put: &list[i]})
	}
	if _, err := l.Apply(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
}

// search returns what exact search finds: ids and scores.
func search(t *testing.T, l *folder.Live, expert string, query []float32) (ids []string, scores []float32) {
	t.Helper()
	g := l.Collection().Acquire()
	defer g.Release()
	v, ok := g.Expert(expert)
	if !ok {
		t.Fatalf("no vectors of %s", expert)
	}
	hits, err := v.Search(t.Context(), query, 1000, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hits {
		id, err := g.ID(rank.Ordinal(h.Ordinal))
		if err != nil {
			t.Fatal(err)
		}
		ids, scores = append(ids, id), append(scores, h.Score)
	}
	return ids, scores
}

// TestAddExpertTo adds an expert while passages come and go, with an
// interruption in between. It finds what an expert that was there from the
// beginning finds, and no passage was encoded twice.
func TestAddExpertTo(t *testing.T) {
	all := numbered(2600)
	old := &hashEncoder{name: "old"}
	l := live(t, all[:2000], old)
	if _, err := l.Apply(t.Context(), []store.Change{{Delete: "p7"}}); err != nil {
		t.Fatal(err)
	}
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	late := &hashEncoder{name: "late"}
	scratch := filepath.Join(t.TempDir(), "1.work")
	stopped := errors.New("stopped")
	late.before = func(encoded int64) error {
		if encoded > 1000 {
			return stopped
		}
		return nil
	}
	o := store.BuildOptions{Index: store.Index{Kind: "flat"}}
	if _, err := AddExpert(t.Context(), l, late, scratch, o, func(store.Progress) {}); !errors.Is(err, stopped) {
		t.Fatal(err)
	}
	if encoded := late.encoded.Load(); encoded < 1000 || encoded > 1500 {
		t.Fatalf("%d were encoded before the stop", encoded)
	}
	// The second attempt, while passages come in.
	wrote := false
	late.before = func(encoded int64) error {
		if encoded > 1500 && !wrote {
			wrote = true
			put(t, l, all[2000:2300]...)
			return l.Flush(t.Context()) // which is not held up
		}
		return nil
	}
	var stages []store.Stage
	_, err := AddExpert(t.Context(), l, late, scratch, o, func(p store.Progress) {
		if len(stages) == 0 || stages[len(stages)-1] != p.Stage {
			stages = append(stages, p.Stage)
		}
	})
	if err != nil || !wrote {
		t.Fatal(err)
	}
	// 2,000 and the 300 that came; p7 was perhaps merged away.
	if encoded := late.encoded.Load(); encoded < 2299 || encoded > 2300 {
		t.Errorf("%d passages were encoded", encoded)
	}
	if stages[0] != "encoding" || len(stages) < 2 {
		t.Errorf("stages %v", stages)
	}
	put(t, l, all[2300:]...)
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}

	want := live(t, append(append([]corpus.Passage(nil), all[:7]...), all[8:]...), &hashEncoder{name: "late"})
	query := []float32{.3, -.7, .2, .5}
	ids, scores := search(t, l, "late", query)
	wantIDs, wantScores := search(t, want, "late", query)
	if !reflect.DeepEqual(ids, wantIDs) || !reflect.DeepEqual(scores, wantScores) {
		t.Errorf("%d found, %d from the beginning", len(ids), len(wantIDs))
	}
	// Once more, as after a kill that nobody wrote down: nothing to do.
	before := late.encoded.Load()
	if _, err := AddExpert(t.Context(), l, late, scratch, o, func(store.Progress) {}); err != nil ||
		late.encoded.Load() != before {
		t.Errorf("again: %v, %d more encoded", err, late.encoded.Load()-before)
	}
	if _, err := AddExpert(t.Context(), l, &hashEncoder{name: "late", version: 2}, scratch, o,
		func(store.Progress) {}); err == nil {
		t.Error("another encoder under the same name was taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := AddExpert(ctx, l, &hashEncoder{name: "third"}, filepath.Join(t.TempDir(), "2.work"), o,
		func(store.Progress) {}); !errors.Is(
		err,
		context.Canceled,
	) {
		t.Errorf("cancelled: %v", err)
	}
}
