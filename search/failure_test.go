package search

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// breakage is a way for a source to fail.
type breakage struct {
	name   string
	do     func(s *stage) // to expert B
	status string
	says   string
}

func breakages() []breakage {
	hooked := func(where, how string) func(s *stage) {
		hook := func(context.Context) error {
			switch how {
			case "panic":
				panic("third-party trouble")
			case "full":
				return fmt.Errorf("encoding: %w", full{})
			}
			return errors.New("secret path /var/lib")
		}
		return func(s *stage) {
			switch where {
			case "encoder":
				s.encoders["B"].hook = hook
			case "index":
				s.vectors["B"].hook = hook
			case "ensemble":
				s.ensembles["B"].hook = hook
			}
		}
	}
	index := func(v storage.VectorIndex) func(s *stage) {
		return func(s *stage) { s.library.shelf.vectors["B"] = v }
	}
	const failed = "the server's log says why"
	return []breakage{
		{"encoder fails", hooked("encoder", "error"), reply.StatusFailed, failed},
		{"encoder panics", hooked("encoder", "panic"), reply.StatusFailed, failed},
		{"encoder is full", hooked("encoder", "full"), reply.StatusOverloaded, "queue is full"},
		{"index fails", hooked("index", "error"), reply.StatusFailed, failed},
		{"index panics", hooked("index", "panic"), reply.StatusFailed, failed},
		{"ensemble fails", hooked("ensemble", "error"), reply.StatusFailed, failed},
		{"ensemble panics", hooked("ensemble", "panic"), reply.StatusFailed, failed},
		{"ensemble is full", hooked("ensemble", "full"), reply.StatusOverloaded, "queue is full"},
		{
			"scores panic",
			func(s *stage) { s.vectors["B"].scores = func() { panic("no scores") } },
			reply.StatusFailed,
			failed,
		},
		{
			"no vectors",
			func(s *stage) { delete(s.library.shelf.vectors, "B") },
			reply.StatusFailed,
			"this collection has no vectors of the expert",
		},
		{"no passage", index(wrong{hits: []rank.Hit{{Ordinal: 60, Score: 1}}}), reply.StatusFailed, failed},
		{"no number", index(wrong{hits: []rank.Hit{{Ordinal: 6, Score: nan()}}}), reply.StatusFailed, failed},
		{"no vector index", index(nil), reply.StatusFailed, failed},
		{
			"ensemble of another size",
			func(s *stage) { s.config.Experts[1].Ensemble = oversized{s.ensembles["B"]} },
			reply.StatusFailed,
			failed,
		},
		{"short vectors", func(s *stage) { s.config.Experts[1].Info.Dimension = 9 }, reply.StatusFailed, failed},
	}
}

func nan() float32 { var zero float32; return zero / zero }

// wrong is an index that answers what it is told to.
type wrong struct{ hits []rank.Hit }

func (w wrong) Search(context.Context, []float32, int, bool) ([]rank.Hit, error)   { return w.hits, nil }
func (w wrong) Scores(context.Context, []float32, []rank.Ordinal, []float32) error { return nil }

// oversized is an ensemble whose vectors do not fit its number of members.
type oversized struct{ *ensemble }

func (o oversized) Members(ctx context.Context, vector []float32) ([]float32, error) {
	of, err := o.ensemble.Members(ctx, vector)
	return append(of, 1), err
}

// TestOneSourceFails: the rest is fused as if the broken one had not been
// asked, and the answer says so without giving away why.
func TestOneSourceFails(t *testing.T) {
	for _, b := range breakages() {
		t.Run(b.name, func(t *testing.T) {
			s := newStage("ABC", 60)
			want := s.ask(
				t, Request{Question: askedOften, Fusion: listOf("muf", "hybrid", "rrf"), Experts: &[]string{"A", "C"}},
			)
			b.do(s)
			got := s.ask(t, Request{Question: askedOften, Fusion: listOf("muf", "hybrid", "rrf")})
			if !reflect.DeepEqual(got.Rankings, want.Rankings) {
				t.Errorf(
					"rankings %v\nwithout the expert: %v", ids(got.Rankings[0].Results), ids(want.Rankings[0].Results),
				)
			}
			if len(got.Degraded) != 1 || got.Degraded[0].Source != "B" ||
				!strings.Contains(got.Degraded[0].Reason, b.says) {
				t.Errorf("degraded %+v, want B because %q", got.Degraded, b.says)
			}
			if strings.Contains(fmt.Sprint(got.Degraded), "secret") {
				t.Errorf("the reason gives the cause away: %v", got.Degraded)
			}
			if source := got.Sources[1]; source.Name != "B" || source.Status != b.status || source.Hits != 0 ||
				source.Confidence != nil ||
				source.Weight != nil {
				t.Errorf("source %+v, want status %s", source, b.status)
			}
		})
	}
}

// TestWordsFail: BM25 is a source like the others.
func TestWordsFail(t *testing.T) {
	for name, do := range map[string]func(s *stage){
		"error": func(s *stage) { s.words.hook = func(context.Context) error { return io.ErrUnexpectedEOF } },
		"panic": func(s *stage) { s.words.hook = func(context.Context) error { panic("x") } },
		"none":  func(s *stage) { s.library.shelf.words = nil },
	} {
		s := newStage("AB", 60)
		no := false
		want := s.ask(t, Request{Question: askedOften, Fusion: methodsOf("sum"), BM25: &no})
		do(s)
		got := s.ask(t, Request{Question: askedOften, Fusion: methodsOf("sum")})
		if !reflect.DeepEqual(got.Results, want.Results) || len(got.Degraded) != 1 || got.Degraded[0].Source != "bm25" {
			t.Errorf("%s: %v, without BM25 %v; degraded %v", name, ids(got.Results), ids(want.Results), got.Degraded)
		}
		if source := got.Sources[2]; source.Weight != nil || source.Status != reply.StatusFailed {
			t.Errorf("%s: source %+v", name, source)
		}
		// The hybrid of what is left is the experts' fusion.
		if got := s.ask(t, Request{Question: askedOften, Fusion: methodsOf("hybrid")}); len(got.Results) != 10 ||
			len(got.Results[0].Contributions) != 2 {
			t.Errorf("%s: hybrid %+v", name, got.Results)
		}
	}
}

// TestExpertsFail: the hybrid of words alone, and nothing for a method that
// has no source left, beside one that has.
func TestExpertsFail(t *testing.T) {
	s := newStage("AB", 60)
	for _, e := range s.encoders {
		e.hook = func(context.Context) error { return io.ErrUnexpectedEOF }
	}
	got := s.ask(t, Request{Question: askedOften, Fusion: listOf("muf", "muf-sparse", "hybrid", "rrf")})
	for i, want := range []int{0, 0, 10, 10} {
		if r := got.Rankings[i]; len(r.Results) != want || r.Results == nil || r.Confidence != nil {
			t.Errorf("%s: %d results, confidence %v, want %d without", r.Fusion, len(r.Results), r.Confidence, want)
		}
	}
}

// TestScoresFail: a source whose true scores cannot be had is completed by its
// lowest, and the answer says so.
func TestScoresFail(t *testing.T) {
	for name, do := range map[string]func(s *stage){
		"b":    func(s *stage) { s.vectors["b"].scores = func() { panic("no scores") } },
		"bm25": func(s *stage) { s.words.fail = io.ErrUnexpectedEOF },
	} {
		s := newStage("ab", 60)
		do(s)
		got := s.ask(t, Request{Question: askedOften, Fusion: methodsOf("sum"), K: 100})
		if len(got.Degraded) != 1 || got.Degraded[0].Source != name ||
			!strings.Contains(got.Degraded[0].Reason, "lowest score stands in") {
			t.Errorf("%s: degraded %+v", name, got.Degraded)
		}
		origins := map[string]int{}
		for _, result := range got.Results {
			for _, c := range result.Contributions {
				if c.Source == name {
					origins[c.Origin]++
				}
			}
		}
		if origins["exact"] != 0 || origins["min"] == 0 {
			t.Errorf("%s: origins %v, want its lowest score", name, origins)
		}
	}
}

// TestNothingAnswers: which error it is when every source fails.
func TestNothingAnswers(t *testing.T) {
	broken := func(err error) func(context.Context) error { return func(context.Context) error { return err } }
	for _, c := range []struct {
		name    string
		a, b, w error
		kind    fault.ErrorKind
	}{
		{"all fail", io.EOF, io.EOF, io.EOF, fault.Unavailable},
		{"all are full", full{}, full{}, full{}, fault.Overloaded},
		{"one is full", full{}, io.EOF, io.EOF, fault.Unavailable},
		{"all are late", context.DeadlineExceeded, context.DeadlineExceeded, context.DeadlineExceeded, fault.Deadline},
		{"late and full", context.DeadlineExceeded, full{}, context.DeadlineExceeded, fault.Deadline},
		{"full and late", full{}, full{}, context.DeadlineExceeded, fault.Overloaded},
		{"late and broken", context.DeadlineExceeded, io.EOF, context.DeadlineExceeded, fault.Unavailable},
	} {
		s := newStage("AB", 60)
		s.encoders["A"].hook, s.encoders["B"].hook, s.words.hook = broken(c.a), broken(c.b), broken(c.w)
		e := s.refused(t, Request{Question: askedOften})
		if e.Kind != c.kind || kindOf(e) != c.kind {
			t.Errorf("%s: kind %d, code %s, want %d", c.name, e.Kind, e.Code, c.kind)
		}
		for _, name := range []string{"A: ", "B: ", "bm25: "} {
			if !strings.Contains(e.Detail, name) {
				t.Errorf("%s: %q does not name %s", c.name, e.Detail, name)
			}
		}
		if !errors.Is(e, c.a) {
			t.Errorf("%s: the cause is lost: %v", c.name, e)
		}
		if n := s.library.pinned.Load(); n != 0 {
			t.Errorf("%s: %d generations are still pinned", c.name, n)
		}
	}
}

// sleep waits for d or the context, as a source that heeds it does.
func sleep(d time.Duration) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stubborn waits for d whatever the context says.
func stubborn(d time.Duration) func(ctx context.Context) error {
	return func(context.Context) error { time.Sleep(d); return nil }
}

// TestDeadline runs on a clock of its own.
func TestDeadline(t *testing.T) {
	for name, wait := range map[string]func(time.Duration) func(context.Context) error{"heeds": sleep,
		"ignores": stubborn} {
		t.Run("a slow source that "+name+" the context", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage("ABC", 60)
				want := s.ask(t, Request{Question: askedOften, Fusion: methodsOf("muf"), Experts: &[]string{"A", "C"}})
				engine := s.engine(t)
				s.encoders["A"].hook = wait(149 * time.Millisecond) // just in time: a quarter is left for the rest
				s.vectors["B"].hook = wait(time.Hour)
				started := time.Now()
				got, err := engine.Search(
					context.Background(), Caller{},
					Request{Question: askedOften, Fusion: methodsOf("muf"), TimeoutMS: 200},
				)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(started); took != 150*time.Millisecond {
					t.Errorf(
						"the answer took %v of a deadline of 200ms, of which the last quarter is for putting it together",
						took,
					)
				}
				if !reflect.DeepEqual(got.Results, want.Results) || got.Sources[1].Status != reply.StatusDeadline ||
					got.Degraded[0].Reason != "it did not answer within 200 ms" {
					t.Errorf("results %v, without B %v; %+v", ids(got.Results), ids(want.Results), got.Degraded)
				}
				// The generation stays pinned as long as the slow source uses it,
				// and Close waits for that.
				if pinned := s.library.pinned.Load(); name == "ignores" && pinned != 1 {
					t.Errorf("%d generations are pinned by the slow source, want 1", pinned)
				}
				if err := engine.Close(context.Background()); err != nil {
					t.Error(err)
				}
				if pinned := s.library.pinned.Load(); pinned != 0 {
					t.Errorf("%d generations are pinned after Close", pinned)
				}
			})
		})
	}
	t.Run("all late", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newStage("AB", 60)
			s.encoders["A"].hook = sleep(time.Hour)
			s.encoders["B"].hook = stubborn(time.Hour)
			s.words.hook = sleep(time.Hour)
			engine := s.engine(t)
			_, err := engine.Search(context.Background(), Caller{}, Request{Question: askedOften, TimeoutMS: 50})
			if kindOf(err) != fault.Deadline || !strings.HasPrefix(err.Error(), "no source answered within 50 ms") {
				t.Errorf("kind %d: %v", kindOf(err), err)
			}
			searched := false
			s.vectors["B"].hook = func(context.Context) error { searched = true; return nil }
			if err := engine.Close(context.Background()); err != nil || searched {
				t.Errorf("Close: %v; the expert that came late went on to search: %v", err, searched)
			}
		})
	})
	t.Run("within a part of a millisecond", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newStage("A", 60)
			s.encoders["A"].hook, s.words.hook = sleep(time.Hour), sleep(time.Hour)
			caller := Caller{Arrived: time.Now().Add(-400 * time.Microsecond)}
			_, err := s.engine(t).Search(context.Background(), caller, Request{Question: askedOften, TimeoutMS: 1})
			if kindOf(err) != fault.Deadline || !strings.HasPrefix(err.Error(), "no source answered within 0.6 ms") {
				t.Errorf("kind %d: %v", kindOf(err), err)
			}
		})
	})
	t.Run("the caller's deadline is nearer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newStage("A", 60)
			s.encoders["A"].hook = sleep(time.Hour)
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
			defer cancel()
			got, err := s.engine(t).Search(ctx, Caller{}, Request{Question: askedOften})
			if err != nil || len(got.Results) == 0 || got.Degraded[0].Reason != "it did not answer within 30 ms" {
				t.Errorf("%v, %+v", err, got.Degraded)
			}
		})
	})
	t.Run("the caller goes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newStage("A", 60)
			s.encoders["A"].hook = sleep(time.Hour)
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(10*time.Millisecond, cancel)
			started := time.Now()
			_, err := s.engine(t).Search(ctx, Caller{}, Request{Question: askedOften})
			if !errors.Is(err, context.Canceled) || kindOf(err) != 0 || time.Since(started) != 10*time.Millisecond {
				t.Errorf("after %v: %v", time.Since(started), err)
			}
		})
	})
}

// TestGenerationIsPinned: a request that began sees its generation to the end.
func TestGenerationIsPinned(t *testing.T) {
	s := newStage("A", 60)
	engine := s.engine(t)
	next := newStage("A", 5).library.shelf
	next.number = 13
	s.vectors["A"].hook = func(context.Context) error {
		s.library.mu.Lock()
		s.library.shelf = next
		s.library.mu.Unlock()
		return nil
	}
	r, err := engine.Search(context.Background(), Caller{}, Request{Question: askedOften, K: 20})
	if err != nil || r.Generation != 12 || len(r.Results) != 20 {
		t.Errorf(
			"generation %d with %d results, %v; want the one that was there at first",
			r.Generation,
			len(r.Results),
			err,
		)
	}
	r, err = engine.Search(context.Background(), Caller{}, Request{Question: askedOften, K: 20})
	if err != nil || r.Generation != 13 || len(r.Results) != 5 {
		t.Errorf("then generation %d with %d results, %v", r.Generation, len(r.Results), err)
	}
	_ = engine.Close(context.Background())
	if n := s.library.pinned.Load(); n != 0 {
		t.Errorf("%d generations are still pinned", n)
	}
}

// TestUnsortedHits: an index that returns hits in its own order is put right.
func TestUnsortedHits(t *testing.T) {
	s := newStage("a", 60)
	no := false
	s.library.shelf.vectors["a"] = wrong{
		hits: []rank.Hit{{Ordinal: 5, Score: 1}, {Ordinal: 9, Score: 3}, {Ordinal: 2, Score: 3}},
	}
	r := s.ask(t, Request{Question: askedOften, BM25: &no})
	if got := strings.Join(ids(r.Results), " "); got != "p002 p009 p005" {
		t.Errorf("order %s", got)
	}
}

// TestPassageUnreadable: an answer whose text cannot be read is an error, not
// an answer with holes.
func TestPassageUnreadable(t *testing.T) {
	s := newStage("a", 60)
	s.config.Corpus = brittle{s.library}
	e := s.refused(t, Request{Question: askedOften})
	if e.Kind != fault.Unavailable || strings.Contains(e.Detail, "sector") || !strings.Contains(e.Error(), "sector") {
		t.Errorf("kind %d, detail %q, error %v", e.Kind, e.Detail, e)
	}
}

type brittle struct{ *library }

func (b brittle) Acquire() storage.View { return brittleView{b.library.Acquire()} }

type brittleView struct{ storage.View }

func (v brittleView) Passages() storage.Passages { return brittlePassages{v.View.Passages()} }

type brittlePassages struct{ storage.Passages }

func (p brittlePassages) Read(context.Context, []rank.Ordinal) ([]corpus.Passage, error) {
	return nil, errors.New("bad sector")
}

// partly finds half of the hits, and says so.
type partly struct{ storage.VectorIndex }

func (p partly) Search(ctx context.Context, query []float32, k int, exact bool) ([]rank.Hit, error) {
	hits, err := p.VectorIndex.Search(ctx, query, k, exact)
	if err != nil {
		return nil, err
	}
	return hits[:len(hits)/2], &storage.PartialError{Reason: "half is missing", Err: errors.New("secret path /var/lib")}
}

// TestPartly: the hits of a source that could not search all passages count, and the
// answer names the source.
func TestPartly(t *testing.T) {
	s := newStage("ABC", 60)
	s.library.shelf.vectors["B"] = partly{s.library.shelf.vectors["B"]}
	got := s.ask(t, Request{Question: "red cat", Fusion: methodsOf("sum"), K: 20, Candidates: 20})
	if len(got.Degraded) != 1 || got.Degraded[0] != (reply.Missing{Source: "B", Reason: "half is missing"}) {
		t.Errorf("degraded: %+v", got.Degraded)
	}
	hits := 0
	for _, r := range got.Results {
		for _, c := range r.Contributions {
			if c.Source == "B" && c.Origin == "hit" {
				hits++
			}
		}
	}
	if hits == 0 || hits > 10 {
		t.Errorf("%d hits of B count", hits)
	}
}

// TestInexactCounts: where words were counted inexactly, the answer is as it would be by these counts, and says so.
func TestInexactCounts(t *testing.T) {
	s := newStage("ABC", 60)
	request := Request{Question: "red cat", Fusion: methodsOf("sum"), K: 20, Candidates: 20}
	want := s.ask(t, request)
	s.words.inexact = &storage.PartialError{Reason: "a part was counted", Err: errors.New("secret path /var/lib")}
	got := s.ask(t, request)
	missing := reply.Missing{Source: reply.WordSource, Reason: "a part was counted"}
	if len(got.Degraded) != 1 || got.Degraded[0] != missing {
		t.Errorf("degraded: %+v", got.Degraded)
	}
	if len(want.Results) == 0 || len(want.Degraded) != 0 || len(got.Results) != len(want.Results) {
		t.Fatalf("%d results, and %d", len(got.Results), len(want.Results))
	}
	for i, r := range want.Results {
		if got.Results[i].ID != r.ID || got.Results[i].Score != r.Score {
			t.Errorf("result %d: %s %v, not %s %v", i, got.Results[i].ID, got.Results[i].Score, r.ID, r.Score)
		}
	}
}
