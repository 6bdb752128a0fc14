package batcher

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.org/conclave/internal/identity"
)

// TestTenants: a question is computed once for each tenant that asks it. Names that continue the tokens, or one
// another, are different tenants.
func TestTenants(t *testing.T) {
	var rows atomic.Int64
	c := Config{
		Infer: func(_ context.Context, _ Lane, all [][]int32) ([][]float32, error) {
			rows.Add(int64(len(all)))
			vectors := make([][]float32, len(all))
			for i, row := range all {
				vectors[i] = []float32{float32(row[0])}
			}
			return vectors, nil
		},
		Machine: NewMachine(1), Threads: 1, Runs: 1, Queue: 8, BatchTokens: 64, PassageTokens: 64, BusyTokens: 64, Cache: 8,
	}
	b := New(c)
	defer b.Close()
	tokens := []int32{7, 0x61616161}
	for i, step := range []struct {
		name   string
		tokens []int32
		rows   int64 // that were computed by then
	}{
		{"", tokens, 1}, {"", tokens, 1}, {"a", tokens, 2}, {"aaaa", tokens[:1], 3}, {"aa", tokens, 4}, {"a", tokens, 4},
		{"aaaaaaaa", tokens[:1], 5}, {"aaaa", tokens, 6}, {"", tokens, 6},
	} {
		vector, err := b.Question(identity.WithName(t.Context(), step.name), step.tokens)
		if err != nil || len(vector) != 1 || vector[0] != 7 || rows.Load() != step.rows {
			t.Errorf("%d: %v %v after %d rows", i, vector, err, rows.Load())
		}
	}
	if s := b.Stats(); s.Hits != 3 || s.Cached != 6 {
		t.Errorf("%+v", s)
	}
}

// TestTenantsTakeTurns, by hand: of batches of 64 tokens a tenant has 8 while another one asks. The other's
// question, which came last, is in the second batch, and its tenant has all of a batch again when the other one
// has not asked for a second.
func TestTenantsTakeTurns(t *testing.T) {
	var w waitingQueue
	now := time.Unix(0, 0)
	add := func(tenant string, arrival, tokens int) {
		w.add(&entry{tenant: tenant, tokens: make([]int32, tokens), arrival: uint64(arrival)}, now)
	}
	for i := range 40 {
		add("many", i, 4)
	}
	next := func() string {
		var all []string
		for _, e := range w.takeBatch(64, 64, now) {
			all = append(all, fmt.Sprint(e.tenant, e.arrival))
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	if got := next(); got != "many0 many1 many2 many3 many4 many5 many6 many7" { // 160 are 32, 64 and 64
		t.Errorf("alone: %s", got)
	}
	add("one", 40, 4)
	if got := next(); got != "many8 many9 one40" {
		t.Errorf("beside another one: %s", got)
	}
	if got := next(); got != "many10 many11" {
		t.Errorf("a moment later: %s", got)
	}
	add("one", 41, 4)
	add("long", 42, 60) // which is a batch of its own, and its tenant has waited the longest
	if got := next(); got != "long42" {
		t.Errorf("more than a share: %s", got)
	}
	if got := next(); got != "many12 many13 one41" {
		t.Errorf("after it: %s", got)
	}
	now = now.Add(quietAfter + 1)
	if got := next(); strings.Count(got, "many") != 10 { // 104 are 40 and 64
		t.Errorf("a second later: %s", got)
	}
}

// TestFullQueue: who has nothing in a queue that another tenant fills is let in.
func TestFullQueue(t *testing.T) {
	running, goOn := make(chan struct{}, 8), make(chan struct{})
	b := New(Config{
		Infer: func(_ context.Context, _ Lane, all [][]int32) ([][]float32, error) {
			running <- struct{}{}
			<-goOn
			return make([][]float32, len(all)), nil
		},
		Machine: NewMachine(1), Threads: 1, Runs: 1, Queue: 2, BatchTokens: 64, PassageTokens: 64, BusyTokens: 64,
	})
	defer b.Close()
	answers := make(chan error, 8)
	ask := func(name string, token int32) {
		go func() {
			_, err := b.Question(identity.WithName(context.Background(), name), []int32{token})
			answers <- err
		}()
	}
	ask("a", 1)
	<-running
	for n := range int32(2) {
		ask("a", 2+n)
		for b.Stats().Waiting != int64(n+1) {
			runtime.Gosched()
		}
	}
	ask("a", 9)
	var full *OverloadedError
	if err := <-answers; !errors.As(err, &full) {
		t.Errorf("a third one of the same tenant: %v", err)
	}
	ask("b", 1)
	for b.Stats().Waiting != 3 {
		runtime.Gosched()
	}
	close(goOn)
	for range 4 {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
}

// TestRest, by hand: behind a run of 50 ms a tenant that used more than a quarter of a second lately rests for 100
// ms while one asks that used little; not behind a short one, nor beside others that use as much, nor when nobody
// has asked for a second. Beside a tenant that rests another one's question runs at once.
func TestRest(t *testing.T) {
	now := time.Unix(0, 0)
	var u usage
	const run = 50 * time.Millisecond
	rest := func(name string, took time.Duration) time.Duration { return u.addRun(name, took, now) }
	u.useOf("little", now).asked = now
	for i, want := range []time.Duration{0, 0, 0, 0, 2 * run, 2 * run} { // 0.25 s with the fifth
		if got := rest("much", run); got != want {
			t.Errorf("run %d: %v, not %v", i, got, want)
		}
	}
	if got := rest("much", longRun-1); got != 0 {
		t.Errorf("a short run: %v", got)
	}
	for range 6 {
		rest("little", run)
	}
	if got := rest("much", run); got != 0 {
		t.Errorf("beside one that uses much: %v", got)
	}
	now = now.Add(5 * time.Second)
	for range 8 {
		if got := rest("much", run); got != 0 {
			t.Errorf("nobody has asked for seconds: %v", got)
		}
	}

	var w waitingQueue
	w.add(&entry{tenant: "much", tokens: make([]int32, 4), arrival: 1}, now)
	w.tenants["much"].rests = now.Add(run)
	if got := w.restTime(now); got != run {
		t.Errorf("%v to rest", got)
	}
	w.add(&entry{tenant: "little", tokens: make([]int32, 4), arrival: 2}, now)
	if got := w.restTime(now); got != 0 {
		t.Errorf("%v to rest for all", got)
	}
	if got := w.takeBatch(64, 64, now); len(got) != 1 || got[0].tenant != "little" {
		t.Errorf("%+v", got)
	}
	now = now.Add(run + 1)
	if got := w.takeBatch(64, 64, now); w.restTime(now) == 0 || len(got) != 1 || got[0].tenant != "much" {
		t.Errorf("%+v", got)
	}
}
