package search

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// closable is an encoder that must not be asked when it is closed.
type closable struct {
	encoder
	asked, closed atomic.Int64
}

func (c *closable) EncodeQuestion(ctx context.Context, text string) ([]float32, error) {
	c.asked.Add(1)
	if c.closed.Load() > 0 {
		panic("asked after it was closed")
	}
	return c.encoder.EncodeQuestion(ctx, text)
}

// TestUse: while line-ups take each other's place, every answer is by one of them as
// a whole: its experts, its default method, its absent ones. What only earlier ones
// use is closed as soon as they are drained.
func TestUse(t *testing.T) {
	s := newStage("AB", 40)
	a, b := s.config.Experts[0], s.config.Experts[1]
	b.Representatives = nil
	lineUp := func(n int) (LineUp, *closable) {
		own := &closable{}
		own.seed = uint64(n%2 + 1)
		x := []learned.Expert{a, b}[n%2]
		x.Encoder = own
		method := []string{fusion.MethodRRF, fusion.MethodSum}[n%2]
		d := s.config.Defaults
		d.Auto = method
		d.K = 3 + n%2
		d.Gate = nil
		return LineUp{
			Experts:  []learned.Expert{x},
			Defaults: d,
			Absent:   []reply.Missing{{Source: x.Name + " is here"}},
		}, own
	}
	first, own := lineUp(0)
	c := s.config
	c.LineUp = first
	e, err := NewEngine(c)
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var searching, closing sync.WaitGroup
	var answered atomic.Int64
	for range 4 {
		searching.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				r, err := e.Search(context.Background(), Caller{}, Request{Question: askedOften})
				if err != nil {
					t.Error(err)
					return
				}
				seen := fmt.Sprint(r.Sources[0].Name, r.Fusion, len(r.Results), r.Degraded[0].Source)
				if !slices.Contains([]string{"Arrf3A is here", "Bsum4B is here"}, seen) {
					t.Errorf("a mixture of line-ups: %s", seen)
				}
				if len(e.Experts()) != 1 {
					t.Errorf("experts %v", e.Experts())
				}
				answered.Add(1)
			}
		})
	}
	for n := 1; n < 300 || answered.Load() < 300; n++ {
		next, its := lineUp(n)
		drained, err := e.Use(next)
		if err != nil {
			t.Fatal(err)
		}
		before := own
		closing.Go(func() {
			<-drained
			before.closed.Add(1)
		})
		own = its
	}
	close(stop)
	searching.Wait()
	closing.Wait() // all are drained when nobody searches
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if _, err := e.Use(first); kindOf(err) != fault.Unavailable {
		t.Errorf("another line-up after Close: %v", err)
	}
	if _, err := e.Search(context.Background(), Caller{}, Request{Question: askedOften}); kindOf(
		err,
	) != fault.Unavailable {
		t.Errorf("a search after Close: %v", err)
	}
	if n := s.library.pinned.Load(); n != 0 {
		t.Errorf("%d generations are still pinned", n)
	}
}

// TestDrained: a line-up is drained when its last request has ended, with the sources
// that outlived it, and not before the ones that went before it.
func TestDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("A", 10)
		release := make(chan struct{})
		s.encoders["A"].hook = func(context.Context) error { <-release; return nil }
		e := s.engine(t)
		answered := make(chan error)
		go func() {
			_, err := e.Search(t.Context(), Caller{}, Request{Question: "red", TimeoutMS: 10})
			answered <- err
		}()
		synctest.Wait()
		first, err := e.Use(s.config.LineUp)
		if err != nil {
			t.Fatal(err)
		}
		second, err := e.Use(s.config.LineUp)
		if err != nil {
			t.Fatal(err)
		}
		if err := <-answered; err != nil {
			t.Error(err)
		}
		for _, drained := range []<-chan struct{}{first, second} {
			select {
			case <-drained:
				t.Error("drained while an encoder is busy")
			default:
			}
		}
		close(release)
		<-second
		<-first
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestUseRefuses: a line-up that cannot answer changes nothing.
func TestUseRefuses(t *testing.T) {
	s := newStage("ab", 10)
	e := s.engine(t)
	broken := s.config.LineUp
	broken.Defaults.Auto = fusion.MethodMUF
	if _, err := e.Use(broken); err == nil {
		t.Error("muf without ensembles is used")
	}
	if r, err := e.Search(t.Context(), Caller{}, Request{Question: askedOften}); err != nil ||
		r.Fusion != fusion.MethodRRF {
		t.Errorf("after a line-up that was refused: %q, %v", r.Fusion, err)
	}
}

// TestExpertsFollowGenerations: what is said of an expert's index is of the newest
// generation, also for late interaction.
func TestExpertsFollowGenerations(t *testing.T) {
	s, _, _ := lateStage()
	e := s.engine(t)
	s.library.mu.Lock()
	next := *s.library.shelf
	next.passages = append(slices.Clone(next.passages), corpus.Passage{ID: "new"})
	s.library.shelf = &next
	s.library.mu.Unlock()
	for _, x := range e.Experts() {
		alone, err := e.Expert(x.Name)
		if want := len(next.passages); err != nil || x.Passages != want || alone.Passages != want {
			t.Errorf(
				"expert %s has %d passages, alone %d, %v; the newest generation has %d",
				x.Name,
				x.Passages,
				alone.Passages,
				err,
				want,
			)
		}
	}
}

// TestLineUpIsCheckedAlone: a line-up is refused, or taken, for what it is: without a corpus, and
// as an engine refuses it.
func TestLineUpIsCheckedAlone(t *testing.T) {
	good := newStage("abC", 20).config
	if err := good.LineUp.Check(good.Limits); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*EngineConfig){
		"a gate that is not there": func(c *EngineConfig) {
			c.Defaults.Auto = fusion.MethodGate
			c.Defaults.Gate = nil
		},
		"two of one name":          func(c *EngineConfig) { c.Experts = append(c.Experts, c.Experts[0]) },
		"no limits":                func(c *EngineConfig) { c.Limits = Limits{} },
		"more results than may be": func(c *EngineConfig) { c.Defaults.K = c.Limits.K + 1 },
	} {
		bad := newStage("abC", 20).config
		change(&bad)
		_, want := NewEngine(bad)
		if err := bad.LineUp.Check(bad.Limits); err == nil || want == nil || err.Error() != want.Error() {
			t.Errorf("%s: %v, and an engine says %v", name, err, want)
		}
	}
}
