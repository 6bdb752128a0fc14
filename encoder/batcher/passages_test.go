package batcher

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestPassages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		b := start(m, nil)
		defer b.Close()
		random := rand.New(rand.NewPCG(3, 4))
		rows := make([][]int32, 3000)
		for i := range rows {
			rows[i] = row(int32(i), 1+random.IntN(40))
		}
		vectors, err := b.Passages(t.Context(), rows)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range rows {
			if !slices.Equal(vectors[i], vectorOf(row)) {
				t.Fatalf("row %d has the vector %v", i, vectors[i])
			}
		}
		for _, batch := range m.ran() {
			if padded := len(batch.rows) * len(batch.rows[0]); padded > 64 || batch.lane != Passage {
				t.Errorf("a batch of %d padded tokens, lane %d", padded, batch.lane)
			}
		}
		if s := b.Stats(); s.PassageRows != 3000 || float64(s.PaddedTokens) > 1.02*float64(s.RealTokens) {
			t.Errorf("stats %+v", s)
		}
		if vectors, err := b.Passages(t.Context(), nil); len(vectors) != 0 || err != nil {
			t.Errorf("no rows: %v, %v", vectors, err)
		}
	})
}

func TestQuestionsGoFirstAndPassagesAreNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		b := start(m, nil)
		defer b.Close()
		rows := make([][]int32, 64)
		for i := range rows {
			rows[i] = row(int32(i), 8)
		}
		done := make(chan struct{})
		go func() {
			if _, err := b.Passages(t.Context(), rows); err != nil {
				t.Error(err)
			}
			close(done)
		}()
		synctest.Wait()
		// Two askers whose questions are too different in length for one
		// batch: while one is answered, the other waits.
		ctx, cancel := context.WithCancel(t.Context())
		var askers sync.WaitGroup
		for asker := range int32(2) {
			askers.Go(func() {
				for i := int32(0); ctx.Err() == nil; i++ {
					_, _ = b.Question(ctx, row(1000*asker+i, 4+20*int(asker)))
				}
			})
		}
		<-done
		cancel()
		askers.Wait()
		sizes := map[Lane]int{}
		between := 0
		for i, batch := range m.ran() {
			sizes[batch.lane]++
			switch {
			case i == 0:
				if len(batch.rows) != 8 {
					t.Errorf("before there were questions, a batch had %d passages, want 8", len(batch.rows))
				}
			case batch.lane == Question:
				between++
			default:
				// They rest for as long as they ran, besides.
				if len(batch.rows) != 2 || between < passageEvery || between > 2*passageEvery {
					t.Errorf("a batch of %d passages after %d of questions, want 2 after %d", len(batch.rows), between, passageEvery)
				}
				between = 0
			}
		}
		if sizes[Passage] != 1+28 {
			t.Errorf("%d batches of passages, want 29", sizes[Passage])
		}
	})
}

func TestPassagesEndWithTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		b := start(m, nil)
		defer b.Close()
		rows := make([][]int32, 1000)
		for i := range rows {
			rows[i] = row(int32(i), 32)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		begun := time.Now()
		if _, err := b.Passages(ctx, rows); !errors.Is(err, context.DeadlineExceeded) ||
			time.Since(begun) != 200*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		synctest.Wait()
		if n := len(m.seen()); n != 4 || m.ran()[3].ended == nil {
			t.Errorf("%d batches were run, the last ended with %v", n, m.ran()[n-1].ended)
		}
		if s := b.Stats(); s.Jobs != 0 || s.Ended != 1 {
			t.Errorf("stats %+v", s)
		}
		// Calls take turns, and too many are refused.
		var calls sync.WaitGroup
		for call := range 3 {
			calls.Go(func() {
				if _, err := b.Passages(t.Context(), rows[call*10:call*10+10]); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		var callOf []int32
		for _, rows := range m.seen()[4:] {
			callOf = append(callOf, rows[0]/10)
		}
		for i := 3; i < len(callOf); i++ {
			if callOf[i] != callOf[i-3] || callOf[i] == callOf[i-1] {
				t.Errorf("calls were served in the order %v", callOf)
				break
			}
		}
	})
}

// TestPassagesUseEveryCore: min(cores, batches) runs of one call are under way until its last
// batches, and no more than one for each core while a second model has work, too.
func TestPassagesUseEveryCore(t *testing.T) {
	for _, c := range []struct{ cores, batches, want int }{{1, 6, 1}, {2, 6, 2}, {4, 3, 3}, {16, 40, 16}} {
		synctest.Test(t, func(t *testing.T) {
			machine := NewMachine(c.cores)
			var mu sync.Mutex
			now, most := 0, 0
			open := func() *Batcher {
				m := &model{}
				return start(m, func(o *Config) {
					o.Machine = machine
					o.Runs = c.cores
					o.Threads = 1
					o.PassageTokens = 10
					o.Infer = func(ctx context.Context, lane Lane, rows [][]int32) ([][]float32, error) {
						mu.Lock()
						now++
						most = max(most, now)
						mu.Unlock()
						defer func() { mu.Lock(); now--; mu.Unlock() }()
						return m.infer(ctx, lane, rows)
					}
				})
			}
			encode := func(b *Batcher) {
				rows := make([][]int32, c.batches)
				for i := range rows {
					rows[i] = row(int32(i), 10)
				}
				if _, err := b.Passages(t.Context(), rows); err != nil {
					t.Error(err)
				}
			}
			one, other := open(), open()
			defer one.Close()
			defer other.Close()
			began := time.Now()
			encode(one)
			// A run takes ten milliseconds of the test's clock.
			rounds := (c.batches + c.cores - 1) / c.cores
			if took := time.Since(began); most != c.want || took != time.Duration(rounds)*10*time.Millisecond {
				t.Errorf("%d batches on %d cores: %d runs at once in %v, want %d in %d rounds of 10ms", c.batches, c.cores, most, took, c.want, rounds)
			}
			most = 0
			var both sync.WaitGroup
			both.Go(func() { encode(one) })
			both.Go(func() { encode(other) })
			both.Wait()
			if want := min(c.cores, 2*c.batches); most != want {
				t.Errorf("two models with %d batches each on %d cores: %d runs at once, want %d", c.batches, c.cores, most, want)
			}
		})
	}
}

// TestSmallJobsUseEveryCore: the passages of one document are divided among the cores, unless so little is left for
// each that a run costs more than it saves.
func TestSmallJobsUseEveryCore(t *testing.T) {
	for _, c := range []struct{ rows, runs int }{{8, 4}, {16, 4}, {4, 2}, {2, 1}, {1, 1}} {
		synctest.Test(t, func(t *testing.T) {
			m := &model{}
			b := start(m, func(o *Config) {
				o.Machine = NewMachine(4)
				o.Runs = 4
				o.Threads = 1
				o.PassageTokens = 1024
			})
			defer b.Close()
			rows := make([][]int32, c.rows)
			for i := range rows {
				rows[i] = row(int32(i), 64)
			}
			if _, err := b.Passages(t.Context(), rows); err != nil {
				t.Error(err)
			}
			if got := len(m.ran()); got != c.runs {
				t.Errorf("%d rows of 64 tokens took %d runs, want %d", c.rows, got, c.runs)
			}
		})
	}
}
