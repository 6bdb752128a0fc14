package batcher

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model stands for a session: a run takes a millisecond of the test's time
// for each padded token, and a row's vector says which row it was.
type model struct {
	mu      sync.Mutex
	batches []batch
	fail    error
}

type batch struct {
	lane  Lane
	rows  [][]int32
	begun time.Time
	ended error
}

func (m *model) infer(ctx context.Context, lane Lane, rows [][]int32) ([][]float32, error) {
	m.mu.Lock()
	at := len(m.batches)
	m.batches = append(m.batches, batch{lane: lane, rows: rows, begun: time.Now()})
	fail := m.fail
	m.mu.Unlock()
	longest := 0
	for _, row := range rows {
		longest = max(longest, len(row))
	}
	select {
	case <-time.After(time.Duration(longest*len(rows)) * time.Millisecond):
	case <-ctx.Done():
		m.mu.Lock()
		m.batches[at].ended = ctx.Err()
		m.mu.Unlock()
		return nil, ctx.Err()
	}
	if fail != nil {
		return nil, fail
	}
	vectors := make([][]float32, len(rows))
	for i, row := range rows {
		vectors[i] = vectorOf(row)
	}
	return vectors, nil
}

func vectorOf(row []int32) []float32 { return []float32{float32(row[0]), float32(len(row))} }

// ran is a copy of the batches so far.
func (m *model) ran() []batch {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.batches)
}

// seen is the rows of each batch by their first token.
func (m *model) seen() [][]int32 {
	var out [][]int32
	for _, b := range m.ran() {
		var firsts []int32
		for _, row := range b.rows {
			firsts = append(firsts, row[0])
		}
		out = append(out, firsts)
	}
	return out
}

func row(first int32, length int) []int32 {
	r := make([]int32, length)
	r[0] = first
	return r
}

func start(m *model, change func(*Config)) *Batcher {
	c := Config{
		Infer: m.infer, Machine: NewMachine(2), Threads: 2, Runs: 1, Queue: 100,
		BatchTokens: 512, PassageTokens: 64, BusyTokens: 16, StartTokens: 32, Cache: 0,
	}
	if change != nil {
		change(&c)
	}
	return New(c)
}

// ask asks in the background; the result comes from the channel.
func ask(ctx context.Context, b *Batcher, tokens []int32) <-chan answer {
	out := make(chan answer, 1)
	go func() {
		vector, err := b.Question(ctx, tokens)
		out <- answer{vector, err}
	}()
	return out
}

func wantVector(t *testing.T, a answer, tokens []int32) {
	t.Helper()
	if a.err != nil || !slices.Equal(a.vector, vectorOf(tokens)) {
		t.Errorf("row %d of %d tokens: %v, %v", tokens[0], len(tokens), a.vector, a.err)
	}
}

func TestLoneQuestionRunsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		b := start(m, nil)
		defer b.Close()
		for i := range int32(3) {
			begun := time.Now()
			tokens := row(i, 5)
			wantVector(t, <-ask(t.Context(), b, tokens), tokens)
			if took := time.Since(begun); took != 5*time.Millisecond {
				t.Errorf("took %v, of which the run 5 ms", took)
			}
		}
		if len(m.seen()) != 3 {
			t.Errorf("%d runs, want 3", len(m.seen()))
		}
	})
}

func TestBatchesFormFromWhatWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		b := start(m, nil)
		defer b.Close()
		var answers []<-chan answer
		var rows [][]int32
		send := func(first int32, length int) {
			rows = append(rows, row(first, length))
			answers = append(answers, ask(t.Context(), b, rows[len(rows)-1]))
			synctest.Wait()
		}
		send(1, 10)
		send(2, 30) // while the first runs
		send(3, 5)
		send(4, 31)
		send(5, 5)
		for i, a := range answers {
			wantVector(t, <-a, rows[i])
		}
		// The first at once, then the group of the oldest waiting, then the rest.
		want := [][]int32{{1}, {2, 4}, {3, 5}}
		if got := m.seen(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("batches %v, want %v", got, want)
		}
		s := b.Stats()
		if s.QuestionRuns != 3 || s.QuestionRows != 5 || s.RealTokens != 81 || s.PaddedTokens != 10+62+10 || s.BatchSizes[0] != 1 || s.BatchSizes[1] != 2 {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestFullQueueRefusesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		b := start(m, func(c *Config) { c.Queue = 2 })
		defer b.Close()
		var answers []<-chan answer
		for i := range int32(3) { // one runs, two wait
			answers = append(answers, ask(t.Context(), b, row(i, 8)))
			synctest.Wait()
		}
		begun := time.Now()
		_, err := b.Question(t.Context(), row(9, 8))
		var overloaded interface{ Overloaded() bool }
		if !errors.As(err, &overloaded) || !overloaded.Overloaded() || time.Since(begun) != 0 {
			t.Errorf("%v after %v, want an overload at once", err, time.Since(begun))
		}
		// An equal question needs no place.
		again := ask(t.Context(), b, row(1, 8))
		for i, a := range answers {
			wantVector(t, <-a, row(int32(i), 8))
		}
		wantVector(t, <-again, row(1, 8))
		wantVector(t, <-ask(t.Context(), b, row(9, 8)), row(9, 8))
		if s := b.Stats(); s.Refused != 1 || s.Shared != 1 || s.Waiting != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestAbandonedEntriesAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		b := start(m, func(c *Config) { c.Queue = 2 })
		defer b.Close()
		first := ask(t.Context(), b, row(1, 8))
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		gone := ask(ctx, b, row(2, 8))
		stays := ask(t.Context(), b, row(3, 8))
		synctest.Wait()
		cancel()
		if a := <-gone; !errors.Is(a.err, context.Canceled) {
			t.Errorf("the caller who went gets %v", a.err)
		}
		// Its place is free again.
		synctest.Wait()
		next := ask(t.Context(), b, row(4, 8))
		wantVector(t, <-first, row(1, 8))
		wantVector(t, <-stays, row(3, 8))
		wantVector(t, <-next, row(4, 8))
		for _, rows := range m.seen() {
			if slices.Contains(rows, 2) {
				t.Error("the question of a caller who had gone was run")
			}
		}
		if s := b.Stats(); s.Abandoned != 1 || s.Refused != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestRunEndsWhenAllItsCallersHaveGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		b := start(m, nil)
		defer b.Close()
		one, cancelOne := context.WithCancel(t.Context())
		two, cancelTwo := context.WithCancel(t.Context())
		defer cancelTwo()
		blocker := ask(t.Context(), b, row(9, 1))
		synctest.Wait()
		first, second := ask(one, b, row(1, 8)), ask(two, b, row(2, 8))
		<-blocker
		synctest.Wait() // both in one run now
		cancelOne()
		<-first
		time.Sleep(time.Millisecond)
		if m.ran()[1].ended != nil {
			t.Fatal("a run was ended while a caller waited for it")
		}
		// Another caller joins and saves the run from the second's going.
		joined := ask(t.Context(), b, row(2, 8))
		synctest.Wait()
		cancelTwo()
		if a := <-second; !errors.Is(a.err, context.Canceled) {
			t.Error(a.err)
		}
		wantVector(t, <-joined, row(2, 8))
		if len(m.seen()) != 2 || b.Stats().Ended != 0 {
			t.Errorf("batches %v, stats %+v", m.seen(), b.Stats())
		}

		three, cancelThree := context.WithCancel(t.Context())
		third := ask(three, b, row(3, 50))
		synctest.Wait()
		begun := time.Now()
		cancelThree()
		<-third
		// Asked again, it is run again and does not get the ended run's error.
		wantVector(t, <-ask(t.Context(), b, row(3, 50)), row(3, 50))
		if took := time.Since(begun); took != 50*time.Millisecond {
			t.Errorf("took %v: the deserted run was not ended at once", took)
		}
		if m.ran()[2].ended == nil || b.Stats().Ended != 1 {
			t.Errorf("the run without callers went on; stats %+v", b.Stats())
		}
	})
}

func TestEqualQuestionsAreEncodedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		b := start(m, nil)
		defer b.Close()
		ctx, cancel := context.WithCancel(t.Context())
		leaves := ask(ctx, b, row(1, 8))
		synctest.Wait()
		var answers []<-chan answer
		for range 10 {
			answers = append(answers, ask(t.Context(), b, row(1, 8)))
		}
		synctest.Wait()
		cancel() // the first to ask goes; the others keep the run
		<-leaves
		for _, a := range answers {
			got := <-a
			wantVector(t, got, row(1, 8))
			got.vector[0] = -1 // each has a vector of its own
		}
		if n := len(m.seen()); n != 1 {
			t.Errorf("%d runs, want 1", n)
		}
	})
}

func TestCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		b := start(m, func(c *Config) { c.Cache = 2 })
		defer b.Close()
		for i, first := range []int32{1, 2, 1, 3, 1, 2} {
			a := <-ask(t.Context(), b, row(first, 3))
			wantVector(t, a, row(first, 3))
			a.vector[0] = -1 // must not reach the cache
			want := []int{1, 2, 2, 3, 3, 4}[i]
			if got := len(m.seen()); got != want {
				t.Errorf("after question %d: %d runs, want %d", i, got, want)
			}
		}
		if s := b.Stats(); s.Hits != 2 || s.Cached != 2 || s.Questions != 6 {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestErrorsReachEveryCallerAndPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{fail: errors.New("no more memory")}
		b := start(m, func(c *Config) { c.Cache = 10 })
		defer b.Close()
		one, two := ask(t.Context(), b, row(1, 8)), ask(t.Context(), b, row(1, 8))
		for _, a := range []answer{<-one, <-two} {
			if !errors.Is(a.err, m.fail) {
				t.Errorf("got %v", a.err)
			}
		}
		if _, err := b.Passages(t.Context(), [][]int32{row(1, 8)}); !errors.Is(err, m.fail) {
			t.Errorf("passages: %v", err)
		}
		m.mu.Lock()
		m.fail = nil
		m.mu.Unlock()
		wantVector(t, <-ask(t.Context(), b, row(1, 8)), row(1, 8))
	})
}

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
				if len(batch.rows) != 2 || between != passageEvery {
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
		if _, err := b.Passages(ctx, rows); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 200*time.Millisecond {
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

func TestCloseDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{}
		b := start(m, nil)
		var answers []<-chan answer
		for i := range int32(5) {
			answers = append(answers, ask(t.Context(), b, row(i, 8)))
			synctest.Wait()
		}
		job := make(chan error, 1)
		go func() {
			_, err := b.Passages(t.Context(), [][]int32{row(50, 8)})
			job <- err
		}()
		synctest.Wait()
		closed := make(chan struct{})
		go func() { b.Close(); b.Close(); close(closed) }()
		synctest.Wait()
		if _, err := b.Question(t.Context(), row(99, 8)); !errors.Is(err, ErrClosed) {
			t.Errorf("a question after Close: %v", err)
		}
		if _, err := b.Passages(t.Context(), [][]int32{row(99, 8)}); !errors.Is(err, ErrClosed) {
			t.Errorf("passages after Close: %v", err)
		}
		for i, a := range answers {
			wantVector(t, <-a, row(int32(i), 8))
		}
		if err := <-job; !errors.Is(err, ErrClosed) {
			t.Errorf("passages under way: %v", err)
		}
		<-closed
		if _, err := b.Question(t.Context(), row(99, 8)); !errors.Is(err, ErrClosed) {
			t.Errorf("a question after the end: %v", err)
		}
	})
}

// Two models on one machine run one after the other, and a batch is formed
// when its turn comes, not when it asked for it.
func TestModelsShareTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := NewMachine(2)
		m, other := &model{}, &model{}
		b := start(m, func(c *Config) { c.Machine = machine })
		defer b.Close()
		c := start(other, func(c *Config) { c.Machine = machine; c.Threads = 8 }) // more than there are
		defer c.Close()
		begun := time.Now()
		first := ask(t.Context(), b, row(1, 8))
		synctest.Wait()
		second := ask(t.Context(), c, row(2, 8))
		synctest.Wait()
		third := ask(t.Context(), c, row(3, 8))
		wantVector(t, <-first, row(1, 8))
		wantVector(t, <-second, row(2, 8))
		wantVector(t, <-third, row(3, 8))
		if took := time.Since(begun); took != 24*time.Millisecond {
			t.Errorf("took %v, one after the other is 24 ms", took)
		}
		if n := len(other.seen()); n != 1 {
			t.Errorf("%d runs of the second model, want 1", n)
		}
		// Callers who go while slots are awaited leave nothing behind.
		first = ask(t.Context(), b, row(4, 8))
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		gone := ask(ctx, c, row(5, 8))
		synctest.Wait()
		cancel()
		<-gone
		wantVector(t, <-first, row(4, 8))
		wantVector(t, <-ask(t.Context(), c, row(6, 8)), row(6, 8))
		if n := len(other.seen()); n != 2 {
			t.Errorf("%d runs of the second model, want 2", n)
		}
	})
}

// Many callers with their own deadlines, in real time and under the race
// detector: whoever gets a vector gets the right one.
func TestManyCallers(t *testing.T) {
	b := New(Config{
		Infer: func(ctx context.Context, lane Lane, rows [][]int32) ([][]float32, error) {
			timer := time.NewTimer(time.Duration(len(rows)) * 20 * time.Microsecond)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			vectors := make([][]float32, len(rows))
			for i, row := range rows {
				vectors[i] = vectorOf(row)
			}
			return vectors, nil
		},
		Machine: NewMachine(2), Threads: 1, Runs: 2, Queue: 24,
		BatchTokens: 128, PassageTokens: 128, BusyTokens: 32, StartTokens: 32, Cache: 16,
	})
	var callers sync.WaitGroup
	for caller := range 32 {
		callers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(caller), 1))
			for range 300 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(3000))*time.Microsecond)
				var overloaded *OverloadedError
				rows := [][]int32{row(random.Int32N(64), 1+random.IntN(20)), row(random.Int32N(64), 1+random.IntN(20))}
				var vectors [][]float32
				var err error
				if caller%8 == 0 {
					vectors, err = b.Passages(ctx, rows)
				} else {
					var vector []float32
					vector, err = b.Question(ctx, rows[0])
					vectors = [][]float32{vector}
				}
				switch {
				case err == nil:
					for i, vector := range vectors {
						if !slices.Equal(vector, vectorOf(rows[i])) {
							t.Errorf("row %v has the vector %v", rows[i], vector)
						}
					}
				case errors.As(err, &overloaded), errors.Is(err, context.DeadlineExceeded):
				default:
					t.Errorf("error %v", err)
				}
				cancel()
			}
		})
	}
	callers.Wait()
	b.Close()
	if s := b.Stats(); s.Waiting != 0 || s.Jobs != 0 {
		t.Errorf("left behind: %+v", s)
	}
}
