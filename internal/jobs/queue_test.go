package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/conclave/internal/jobs/lease"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type work = func(ctx context.Context, task Task) (Result, error)

// kindsOf returns options with which w does the jobs of the kinds Snapshot and DeleteTagged.
func kindsOf(w work) QueueOptions {
	return QueueOptions{Kinds: map[string]Handler{Snapshot: {Work: w}, DeleteTagged: {Work: w}}}
}

// serving returns a queue over a register that looks for jobs every millisecond and does them with w.
func serving(r Register, w work) *Queue {
	q := NewQueue(r, kindsOf(w))
	q.look = time.Millisecond
	return q
}

// running runs a queue until the returned function is called.
func running(t *testing.T, q *Queue) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { q.Run(ctx); close(ended) }()
	stop = sync.OnceFunc(func() { cancel(); <-ended })
	t.Cleanup(stop)
	return stop
}

// submit adds a job of the kind Snapshot with this name. The test fails at once if it is refused.
func submit(t *testing.T, q *Queue, name string) Job {
	t.Helper()
	j, err := q.Submit(t.Context(), Request{Kind: Snapshot, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// listed returns all jobs of the queue, the newest first.
func listed(t *testing.T, q *Queue) []Job {
	t.Helper()
	all, err := q.Jobs(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// refusal returns the code of a *Refusal, or the text of another error.
func refusal(err error) string {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return fmt.Sprint(err)
}

// awaited waits until is returns true for the job with this id, and returns the job. The test fails at once with the
// text what if the job ends before.
func awaited(t *testing.T, q *Queue, id, what string, is func(Job) bool) Job {
	t.Helper()
	for {
		j, ok, err := q.Job(t.Context(), id)
		if err != nil || !ok {
			t.Fatalf("job %s: %t, %v", id, ok, err)
		}
		if is(j) {
			return j
		}
		if j.State.Ended() {
			t.Fatalf("%s: %+v", what, j)
		}
		time.Sleep(time.Millisecond)
	}
}

// hasEnded reports whether a job has ended, for awaited.
func hasEnded(j Job) bool { return j.State.Ended() }

// TestInOrder runs jobs one at a time, in their order, and tells how they went.
func TestInOrder(t *testing.T) {
	atEach(t, shortBeat, func(t *testing.T, s *site) {
		var order []string // one job at a time, so it needs no lock
		r, _ := s.start(t)
		q := serving(r, func(_ context.Context, task Task) (Result, error) {
			order = append(order, task.Name)
			task.Report(Progress{Stage: "reading", Done: 1, Total: 2, Unit: "files"})
			switch task.Name {
			case "b":
				return Result{}, errors.New("the disk is full")
			case "c":
				panic("never mind")
			}
			return Result{Generation: 7}, nil
		})
		var ids []string
		for _, name := range []string{"a", "b", "c", "d"} {
			ids = append(ids, submit(t, q, name).ID)
		}
		stop := running(t, q)
		awaited(t, q, ids[3], "the last", hasEnded)
		stop()
		if !slices.Equal(order, []string{"a", "b", "c", "d"}) {
			t.Errorf("order %v", order)
		}
		for again := range 2 { // as they are, and as the next server finds them
			for i, want := range []struct {
				state State
				error string
			}{{Done, ""}, {Failed, "the disk is full"}, {Failed, "never mind"}, {Done, ""}} {
				j, _, _ := q.Job(t.Context(), ids[i])
				if j.State != want.state || !strings.Contains(j.Error, want.error) || j.Attempts != 1 ||
					j.Begun == nil || j.Ended == nil || j.Progress != nil ||
					(want.state == Done) != (j.Result != nil && j.Result.Generation == 7) {
					t.Errorf("pass %d: %+v", again, j)
				}
			}
			if list := listed(t, q); len(list) != 4 || list[0].ID != ids[3] {
				t.Errorf("list %+v", list)
			}
			r, _ := s.start(t)
			q = serving(r, nil)
		}
		if next := submit(t, q, "e"); next.ID != "5" {
			t.Errorf("the next job is %s", next.ID)
		}
	})
}

// TestInterrupted ends a server in the middle of a job: the next one begins it again, with what
// it had left.
func TestInterrupted(t *testing.T) {
	atEach(t, shortBeat, func(t *testing.T, s *site) {
		begun := make(chan struct{})
		r, _ := s.start(t)
		first := serving(r, func(ctx context.Context, task Task) (Result, error) {
			if task.Scratch != "" {
				if err := os.WriteFile(task.Scratch, []byte("half"), 0o644); err != nil {
					return Result{}, err
				}
			}
			close(begun)
			<-ctx.Done()
			return Result{}, ctx.Err()
		})
		j, waits := submit(t, first, "a"), submit(t, first, "b")
		stop := running(t, first)
		<-begun
		stop()
		for _, id := range []string{j.ID, waits.ID} {
			if j, _, _ := first.Job(t.Context(), id); j.State != Queued {
				t.Errorf("after an orderly end: %+v", j)
			}
		}
		found := ""
		r, _ = s.start(t)
		second := serving(r, func(_ context.Context, task Task) (Result, error) {
			if data, err := os.ReadFile(task.Scratch); err == nil {
				found += task.Name + string(data)
			}
			return Result{}, nil
		})
		stop = running(t, second)
		awaited(t, second, waits.ID, "the last", hasEnded)
		stop()
		scratch := r.Scratch(j.ID)
		if got, _, _ := second.Job(t.Context(), j.ID); got.State != Done || got.Attempts != 2 ||
			(found == "ahalf") != (scratch != "") {
			t.Errorf("%+v, found %q", got, found)
		}
		if _, err := os.Stat(scratch); err == nil {
			t.Errorf("%s is left behind", scratch)
		}
	})
}

// TestOnce: of jobs that several servers accept at the same time, each is done once, in the order
// of their numbers, and never two at a time.
func TestOnce(t *testing.T) {
	atEach(t, shortBeat, func(t *testing.T, s *site) {
		const servers, each = 3, 12
		var at atomic.Int32
		var mu sync.Mutex
		var order []string
		w := func(_ context.Context, task Task) (Result, error) {
			if n := at.Add(1); n != 1 {
				t.Errorf("%d work at a time", n)
			}
			mu.Lock()
			order = append(order, task.ID)
			mu.Unlock()
			time.Sleep(time.Millisecond)
			at.Add(-1)
			return Result{Passages: 1}, nil
		}
		var group sync.WaitGroup
		first, _ := s.start(t)
		for server := range servers {
			q := serving(s.beside(t, first), w)
			running(t, q)
			group.Go(func() {
				for i := range each {
					if _, err := q.Submit(t.Context(), Request{Kind: DeleteTagged, Name: fmt.Sprint(server, ",", i)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		seen := serving(first, nil)
		for i := range servers * each {
			j := awaited(t, seen, fmt.Sprint(i+1), "a job", hasEnded)
			if j.State != Done || j.Attempts != 1 || j.Result.Passages != 1 {
				t.Errorf("%+v", j)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for i, id := range order {
			if id != fmt.Sprint(i+1) {
				t.Fatalf("done in the order %v", order)
			}
		}
		if list := listed(t, seen); len(list) != servers*each || list[0].ID != fmt.Sprint(servers*each) {
			t.Errorf("%d jobs", len(list))
		}
	})
}

// TestKilled: the job of a server that died is taken up by the next one. A server that lives
// keeps its own, and if one that was taken for dead lives after all, its work ends and changes
// nothing.
func TestKilled(t *testing.T) {
	atEach(t, shortBeat, func(t *testing.T, s *site) {
		begun, cause := make(chan struct{}), make(chan error, 1)
		r, cut := s.start(t)
		first := serving(r, func(ctx context.Context, task Task) (Result, error) {
			task.Report(Progress{Stage: "deleting", Done: 2, Total: 9})
			close(begun)
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return Result{Passages: 1}, ctx.Err()
		})
		j := submit(t, first, "a")
		stop := running(t, first)
		<-begun
		if j := awaited(t, first, j.ID, "its progress", func(j Job) bool { return j.Progress != nil }); j.Progress.Done != 2 {
			t.Errorf("%+v", j.Progress)
		}
		again := func(_ context.Context, task Task) (Result, error) {
			return Result{Passages: 10 + task.Attempts}, nil
		}
		other := serving(s.beside(t, r), again)
		end := running(t, other)
		time.Sleep(lease.Gone(shortBeat) * 3 / 2)
		if j, _, _ := other.Job(t.Context(), j.ID); j.Attempts != 1 || j.State != Running {
			t.Errorf("taken from a server that lives: %+v", j)
		}
		end()
		cut(true)
		r2, _ := s.start(t)
		second := serving(r2, again)
		running(t, second)
		if j := awaited(t, second, j.ID, "the end", hasEnded); j.State != Done || j.Result.Passages != 12 {
			t.Errorf("%+v", j)
		}
		if _, is := r.(*Folder); is {
			stop() // a process that died stays dead
			<-cause
		} else {
			cut(false)
			var lost *lease.HeldError
			if err := <-cause; !errors.Is(err, errNotOurs) && !errors.As(err, &lost) {
				t.Errorf("the first ended by %v", err)
			}
		}
		if j, _, _ := second.Job(t.Context(), j.ID); j.State != Done || j.Result.Passages != 12 {
			t.Errorf("afterwards %+v", j)
		}
	})
}

// TestCancel: any server cancels a job, also one that another one runs, and that it is to end
// survives the death of its server.
func TestCancel(t *testing.T) {
	atEach(t, shortBeat, func(t *testing.T, s *site) {
		begun := make(chan string, 4)
		r, cut := s.start(t)
		deaf := make(chan struct{})
		first := serving(r, func(ctx context.Context, task Task) (Result, error) {
			begun <- task.ID
			if task.Name == "deaf" {
				<-deaf
			}
			<-ctx.Done()
			return Result{}, ctx.Err()
		})
		idle := serving(s.beside(t, r), nil)
		var ids []string
		for _, name := range []string{"a", "b", "deaf"} {
			ids = append(ids, submit(t, first, name).ID)
		}
		if _, err := first.Submit(t.Context(), Request{Kind: Snapshot, Name: "b"}); refusal(err) != "job_under_way" {
			t.Error(err)
		}
		stop := running(t, first)
		<-begun
		for _, id := range []string{ids[1], ids[0]} {
			if _, err := idle.Cancel(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
		if id := <-begun; id != ids[2] {
			t.Errorf("job %s begins", id)
		}
		for _, id := range ids[:2] {
			if j, _, _ := idle.Job(t.Context(), id); j.State != Cancelled || j.Error != "" || j.Ended == nil {
				t.Errorf("%+v", j)
			}
			if _, err := idle.Cancel(t.Context(), id); refusal(err) != "job_ended" {
				t.Error(err)
			}
		}
		if _, err := idle.Cancel(t.Context(), "9"); refusal(err) != "unknown_job" {
			t.Error(err)
		}
		if _, err := idle.Cancel(t.Context(), ids[2]); err != nil {
			t.Error(err)
		}
		cut(true)
		r, _ = s.start(t)
		second := serving(r, func(context.Context, Task) (Result, error) {
			t.Error("a job that was cancelled is begun again")
			return Result{}, nil
		})
		running(t, second)
		if j := awaited(t, second, ids[2], "the last", hasEnded); j.State != Cancelled || j.Attempts != 1 {
			t.Errorf("%+v", j)
		}
		close(deaf)
		stop()
	})
}

func TestRefusals(t *testing.T) {
	atEach(t, shortBeat, func(t *testing.T, s *site) {
		r, _ := s.start(t)
		q := NewQueue(r, QueueOptions{Kinds: map[string]Handler{
			Snapshot:  {},
			AddExpert: {Check: func(r Request) error { return Refuse("unknown_bundle", "there is no bundle %q", r.Name) }},
		}})
		submit(t, q, "a")
		for want, r := range map[string]Request{
			"job_under_way":  {Kind: Snapshot, Name: "a"},
			"unknown_bundle": {Kind: AddExpert, Name: "a"}, // the snapshot "a" is something else
			"unknown_value":  {Kind: "dance", Name: "b"},
		} {
			if _, err := q.Submit(t.Context(), r); refusal(err) != want {
				t.Errorf("%+v: %v", r, err)
			}
		}
		for n := range mostWaiting - 1 {
			submit(t, q, fmt.Sprint(n))
		}
		if _, err := q.Submit(t.Context(), Request{Kind: Snapshot, Name: "one more"}); refusal(err) != "too_many_jobs" {
			t.Errorf("one more: %v", err)
		}
		r, _ = s.start(t)
		if found := listed(t, serving(r, nil)); len(found) != mostWaiting {
			t.Errorf("%d records", len(found))
		}
	})
}

// TestForget keeps as many ended jobs as it should, and all that have not ended.
func TestForget(t *testing.T) {
	atEach(t, shortBeat, func(t *testing.T, s *site) {
		r, _ := s.start(t)
		q := serving(r, nil)
		first := submit(t, q, "waits")
		for n := range mostEnded + 2 {
			if _, err := q.Cancel(t.Context(), submit(t, q, fmt.Sprint(n)).ID); err != nil {
				t.Fatal(err)
			}
		}
		last := submit(t, q, "waits, too")
		r, _ = s.start(t)
		for _, q := range []*Queue{q, serving(r, nil)} {
			list := listed(t, q)
			if len(list) != mostEnded+2 || list[0].ID != last.ID || list[1].Name != fmt.Sprint(mostEnded+1) ||
				list[mostEnded].Name != "2" || list[mostEnded+1].ID != first.ID {
				t.Errorf("kept: %d, %+v", len(list), list)
			}
		}
	})
}

// TestFaults lets each operation below the register fail, once or from then on, while jobs are
// accepted, cancelled and done. Afterwards the next server knows every job that was accepted,
// and does those that have not ended; what was written down as done is not done again.
func TestFaults(t *testing.T) {
	for _, lasting := range []bool{false, true} {
		operations := 1
		for at := 0; at <= operations; at++ { // 0: none fails
			atEach(t, 10*time.Millisecond, func(t *testing.T, s *site) {
				operations = max(operations, faultyRun(t, s, at, lasting))
			})
		}
		if operations < 20 {
			t.Errorf("%d operations", operations)
		}
	}
}

// faultyRun lets one server take and do three jobs while operation number at fails, or with lasting all from that on,
// and then a second server finish them. It checks that every accepted job is done or cancelled, and none again that had
// ended. It returns how many operations the first server made.
func faultyRun(t *testing.T, s *site, at int, lasting bool) (operations int) {
	t.Helper()
	done := map[string]int{} // how often, by name
	serve := func() *Queue {
		r, _ := s.start(t)
		return NewQueue(r, kindsOf(func(_ context.Context, task Task) (Result, error) {
			done[task.Name]++
			return Result{Passages: 3}, nil
		}))
	}
	q := serve()
	s.fail(at, lasting)
	accepted := map[string]string{} // names by id
	b := "2"
	for _, name := range []string{"a", "b", "c"} {
		if j, err := q.Submit(t.Context(), Request{Kind: Snapshot, Name: name}); err == nil {
			accepted[j.ID] = name
			if name == "b" {
				b = j.ID
			}
		}
	}
	if accepted[b] != "c" {
		_, _ = q.Cancel(t.Context(), b) // else b was refused
	}
	_ = q.workThrough(t.Context())
	operations = s.count()
	s.fail(0, false)
	next := serve()
	known := map[string]State{}
	before := map[string]int{}
	for _, j := range listed(t, next) {
		known[j.ID] = j.State
		before[j.Name] = done[j.Name]
	}
	if err := next.workThrough(t.Context()); err != nil {
		t.Fatalf("operation %d, lasting %v: %v", at, lasting, err)
	}
	for id, name := range accepted {
		j, ok, err := next.Job(t.Context(), id)
		switch {
		case err != nil || !ok || j.Name != name || j.State != Done && (name != "b" || j.State != Cancelled):
			t.Errorf("operation %d, lasting %v: job %s is %+v, %v", at, lasting, id, j, err)
		case j.State == Done && done[name] == 0:
			t.Errorf("operation %d, lasting %v: nobody did job %s", at, lasting, id)
		case known[id].Ended() && done[name] != before[name]:
			t.Errorf("operation %d, lasting %v: job %s was done again", at, lasting, id)
		case at == 0 && (done[name] > 1 || name == "b" && j.State != Cancelled || len(accepted) != 3):
			t.Errorf("with no fault %+v", j)
		}
	}
	return operations
}
