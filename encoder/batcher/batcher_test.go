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

// ran returns a copy of the batches so far.
func (m *model) ran() []batch {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.batches)
}

// seen returns the rows of each batch by their first token.
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
		if s.QuestionRuns != 3 || s.QuestionRows != 5 || s.RealTokens != 81 || s.PaddedTokens != 10+62+10 {
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
