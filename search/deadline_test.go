package search

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/storage"
	"example.org/conclave/search/turn"
)

// slowPassages take a while to be read, one by one.
type slowPassages struct {
	storage.Passages
	each time.Duration
	read *atomic.Int64
}

func (s slowPassages) Read(ctx context.Context, passages []rank.Ordinal) (out []corpus.Passage, err error) {
	for i := range passages {
		time.Sleep(s.each)
		s.read.Add(1)
		one, err := s.Passages.Read(ctx, passages[i:i+1])
		if err != nil {
			return nil, err
		}
		out = append(out, one...)
	}
	return out, nil
}

type slowView struct {
	storage.View
	passages slowPassages
}

func (v slowView) Passages() storage.Passages {
	v.passages.Passages = v.View.Passages()
	return v.passages
}

type slowCorpus struct {
	storage.Corpus
	passages slowPassages
}

func (c slowCorpus) Acquire() storage.View { return slowView{c.Corpus.Acquire(), c.passages} }

// TestDeadlineIsForAllOfIt: what follows the sources ends at the deadline too,
// and the passages that are left are not read.
func TestDeadlineIsForAllOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("A", 60)
		config := s.config
		var read atomic.Int64
		config.Corpus = slowCorpus{config.Corpus, slowPassages{each: 15 * time.Millisecond, read: &read}}
		engine, err := NewEngine(config)
		if err != nil {
			t.Fatal(err)
		}
		started := time.Now()
		_, err = engine.Search(context.Background(), Caller{}, Request{Question: askedOften, K: 50, TimeoutMS: 100})
		if kindOf(err) != fault.Deadline {
			t.Errorf("kind %d: %v", kindOf(err), err)
		}
		if took := time.Since(started); took != 105*time.Millisecond || read.Load() != 7 {
			t.Errorf("it took %v of 100ms, and %d passages were read, 15ms each", took, read.Load())
		}
	})
}

// TestTimeRunsFromArrival: what a request waited before it was searched for is
// part of its time.
func TestTimeRunsFromArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("A", 60)
		s.encoders["A"].hook = sleep(time.Hour)
		engine := s.engine(t)
		caller := Caller{Arrived: time.Now()}
		time.Sleep(60 * time.Millisecond)
		started := time.Now()
		got, err := engine.Search(context.Background(), caller, Request{Question: askedOften, TimeoutMS: 100})
		if err != nil || len(got.Degraded) != 1 || got.Degraded[0].Reason != "it did not answer within 40 ms" {
			t.Errorf("%v, %+v", err, got.Degraded)
		}
		if took := time.Since(started); took != 30*time.Millisecond {
			t.Errorf("it took %v of the 40ms that were left", took)
		}
		time.Sleep(time.Second)
		if _, err := engine.Search(context.Background(), caller, Request{Question: askedOften, TimeoutMS: 100}); kindOf(
			err,
		) != fault.Deadline {
			t.Errorf("after its time: %v", err)
		}
		_ = engine.Close(context.Background())
	})
}

// counted is a number of processors.
type counted struct {
	turns chan struct{}
	most  atomic.Int64
}

func (c *counted) Turn(ctx context.Context) (func(), error) {
	select {
	case c.turns <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c.most.Store(max(c.most.Load(), int64(len(c.turns))))
	return func() { <-c.turns }, nil
}

// TestComputingWaitsForItsTurn: sources and answers take turns and give them back;
// encoders wait for nobody's, and have none while they work.
func TestComputingWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("ABC", 60)
		config := s.config
		processors := &counted{turns: make(chan struct{}, 1)}
		config.Turns = processors
		for i, name := range []string{"A", "B", "C"} {
			s.encoders[name].hook = func(context.Context) error {
				// One after the other: the clock stands still until the search of who was
				// first has ended.
				time.Sleep(time.Duration(i+1) * time.Millisecond)
				if len(processors.turns) != 0 {
					return fmt.Errorf("%d turns are taken while encoders work", len(processors.turns))
				}
				return nil
			}
		}
		engine, err := NewEngine(config)
		if err != nil {
			t.Fatal(err)
		}
		got, err := engine.Search(
			context.Background(), Caller{}, Request{Question: askedOften, Fusion: methodsOf("muf")},
		)
		if err != nil || len(got.Degraded) > 0 || processors.most.Load() != 1 || len(processors.turns) != 0 {
			t.Errorf(
				"%v, %+v; at most %d turns, %d left", err, got.Degraded, processors.most.Load(), len(processors.turns),
			)
		}
		processors.turns <- struct{}{} // somebody else has it
		_, err = engine.Search(
			context.Background(), Caller{}, Request{Question: askedOften, Experts: &[]string{}, TimeoutMS: 20},
		)
		if kindOf(err) != fault.Deadline {
			t.Errorf("without a turn: %v", err)
		}
	})
}

// TestWaitingElsewhereTakesNoTurn: who waits for another machine lets others compute, has
// a turn again afterwards, and gives back none that it has not.
func TestWaitingElsewhereTakesNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("ABC", 60)
		config := s.config
		processors := &counted{turns: make(chan struct{}, 1)}
		config.Turns = processors
		for _, name := range []string{"A", "B", "C"} {
			s.vectors[name].hook = func(ctx context.Context) error {
				err := turn.Elsewhere(ctx, func() error { time.Sleep(40 * time.Millisecond); return nil })
				if err == nil && len(processors.turns) != 1 {
					return errors.New("it goes on without a turn")
				}
				return err
			}
		}
		engine, err := NewEngine(config)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		got, err := engine.Search(
			context.Background(), Caller{}, Request{Question: askedOften, Fusion: methodsOf("sum")},
		)
		if took := time.Since(began); err != nil || len(got.Degraded) > 0 || took != 40*time.Millisecond ||
			processors.most.Load() != 1 ||
			len(processors.turns) != 0 {
			t.Errorf(
				"%v, %+v; three waited for %v; at most %d turns, %d left",
				err,
				got.Degraded,
				took,
				processors.most.Load(),
				len(processors.turns),
			)
		}
		other := time.AfterFunc(
			20*time.Millisecond, func() { processors.turns <- struct{}{} },
		) // somebody else has it, and keeps it
		defer other.Stop()
		_, err = engine.Search(
			context.Background(), Caller{}, Request{Question: askedOften, Fusion: methodsOf("sum"), TimeoutMS: 200},
		)
		if kindOf(err) != fault.Deadline ||
			len(processors.turns) != 1 {
			t.Errorf("who gets no turn any more: %v; %d turns are taken", err, len(processors.turns))
		}
		<-processors.turns
		if err := engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// TestBesideTakesNoTurn: what a step waits for in another goroutine meanwhile gives its turn back no
// second time, and takes none that is left behind.
func TestBesideTakesNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("A", 60)
		config := s.config
		processors := &counted{turns: make(chan struct{}, 1)}
		config.Turns = processors
		s.vectors["A"].hook = func(ctx context.Context) error {
			ended := make(chan error)
			go func() {
				ended <- turn.Elsewhere(turn.WithoutTurn(ctx), func() error { time.Sleep(20 * time.Millisecond); return nil })
			}()
			err := turn.Elsewhere(ctx, func() error { time.Sleep(10 * time.Millisecond); return nil })
			return errors.Join(err, turn.Elsewhere(ctx, func() error { return <-ended }))
		}
		engine, err := NewEngine(config)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			got, err := engine.Search(
				context.Background(), Caller{}, Request{Question: askedOften, Fusion: methodsOf("sum")},
			)
			if err != nil || len(got.Degraded) > 0 || len(processors.turns) != 0 {
				t.Fatalf("%v, %+v; %d turns are left", err, got.Degraded, len(processors.turns))
			}
		}
		if err := engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// countedTurns counts the turns that are taken and not given back.
type countedTurns struct{ held, most int }

func (c *countedTurns) Turn(context.Context) (func(), error) {
	c.held++
	c.most = max(c.most, c.held)
	return func() { c.held-- }, nil
}

// TestElsewhereInElsewhere: a step that waits for another machine inside of such a wait has one turn at most, and gives
// it back in the end.
func TestElsewhereInElsewhere(t *testing.T) {
	turns := &countedTurns{}
	err := turn.Do(t.Context(), turns, func(ctx context.Context) error {
		err := turn.Elsewhere(ctx, func() error {
			return turn.Elsewhere(ctx, func() error {
				if turns.held != 0 {
					t.Errorf("%d turns are held while the step waits", turns.held)
				}
				return nil
			})
		})
		if turns.held != 1 {
			t.Errorf("%d turns are held when the step goes on", turns.held)
		}
		return err
	})
	if err != nil || turns.held != 0 || turns.most != 1 {
		t.Errorf("%v, %d turns are left, %d at most", err, turns.held, turns.most)
	}
}
