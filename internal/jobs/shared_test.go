package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/conclave/internal/jobs/lease"
)

// memory is the registers that several servers have: of the jobs, and of who works.
type memory struct {
	mu      sync.Mutex
	data    [2][]byte
	version [2]int
}

// wire is one server's way to them.
type wire struct {
	*memory
	cut atomic.Bool
}

// way is the way to one of them.
type way struct {
	*wire
	to int
}

var errCut = errors.New("nobody answers")

func (w way) Read(context.Context) ([]byte, string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut.Load() {
		return nil, "", errCut
	}
	if w.version[w.to] == 0 {
		return nil, "", nil
	}
	return slices.Clone(w.data[w.to]), fmt.Sprint(w.version[w.to]), nil
}

func (w way) Write(_ context.Context, data []byte, version string) (string, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut.Load() {
		return "", false, errCut
	}
	if has := fmt.Sprint(w.version[w.to]); version != has && (version != "" || w.version[w.to] > 0) {
		return has, false, nil
	}
	w.data[w.to] = slices.Clone(data)
	w.version[w.to]++
	return fmt.Sprint(w.version[w.to]), true, nil
}

// sharing runs a server of a store, with so long between its signs of life.
func sharing(
	t *testing.T,
	w *wire,
	beat time.Duration,
	work func(context.Context, Task) (Result, error),
) (s *Shared, stop func()) {
	t.Helper()
	s = OpenShared(way{w, 0}, way{w, 1}, QueueOptions{Kinds: map[string]Handler{DeleteTagged: {Work: work}}})
	s.look = time.Millisecond
	s.working.Beat = beat
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.Run(ctx); close(ended) }()
	stop = sync.OnceFunc(func() { cancel(); <-ended })
	t.Cleanup(stop)
	return s, stop
}

// awaited waits until a job is as it should be.
func awaited(t *testing.T, s *Shared, id string, what string, is func(Job) bool) Job {
	t.Helper()
	for {
		j, ok, err := s.Job(t.Context(), id)
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

func isDone(j Job) bool { return j.State == Done }

// TestSharedOnce: of jobs that several servers accept at the same time, each is done once,
// in the order of their numbers, and never two at a time.
func TestSharedOnce(t *testing.T) {
	const servers, each = 3, 12
	all := &memory{}
	var at atomic.Int32
	var mu sync.Mutex
	var order []string
	work := func(_ context.Context, task Task) (Result, error) {
		if n := at.Add(1); n != 1 {
			t.Errorf("%d work at a time", n)
		}
		mu.Lock()
		order = append(order, task.ID)
		mu.Unlock()
		time.Sleep(time.Millisecond)
		at.Add(-1)
		n := 1
		return Result{Deleted: &n}, nil
	}
	var group sync.WaitGroup
	var seen Shared
	for server := range servers {
		s, _ := sharing(t, &wire{memory: all}, lease.Beat, work)
		if server == 0 {
			seen.register = s.register
		}
		group.Go(func() {
			for i := range each {
				if _, err := s.Submit(t.Context(), Request{Kind: DeleteTagged, Name: fmt.Sprint(server, ",", i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for i := range servers * each {
		if j := awaited(t, &seen, fmt.Sprint(i+1), "a job", isDone); j.Attempts != 1 || *j.Result.Deleted != 1 ||
			j.Ended == nil {
			t.Errorf("%+v", j)
		}
	}
	for i, id := range order {
		if id != fmt.Sprint(i+1) {
			t.Fatalf("done in the order %v", order)
		}
	}
	if list, err := seen.Jobs(t.Context()); err != nil || len(list) != servers*each ||
		list[0].ID != fmt.Sprint(servers*each) {
		t.Errorf("%d jobs, %v", len(list), err)
	}
}

// TestSharedTakenOver: a server that is not heard of any more loses its job to another one,
// which learns how far it was. If it lives after all, its work ends and changes nothing.
func TestSharedTakenOver(t *testing.T) {
	const beat = 150 * time.Millisecond
	all := &memory{}
	one, two := &wire{memory: all}, &wire{memory: all}
	begun, cause := make(chan struct{}), make(chan error, 1)
	first, _ := sharing(t, one, beat, func(ctx context.Context, task Task) (Result, error) {
		task.Report(Progress{Stage: "deleting", Done: 2, Total: 9})
		close(begun)
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return Result{Passages: 1}, ctx.Err()
	})
	j, err := first.Submit(t.Context(), Request{Kind: DeleteTagged, Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	awaited(t, first, j.ID, "its progress", func(j Job) bool { return j.Progress != nil })
	on := make(chan struct{})
	second, _ := sharing(t, two, beat, func(_ context.Context, task Task) (Result, error) {
		<-on
		if task.Progress == nil || task.Progress.Done != 2 || task.Progress.Total != 9 {
			t.Errorf("the attempt before: %+v", task.Progress)
		}
		return Result{Passages: 2}, nil
	})
	time.Sleep(lease.Gone(beat) * 3 / 2)
	if j, _, _ := second.Job(t.Context(), j.ID); j.Attempts != 1 {
		t.Errorf("taken from a server that lives: %+v", j)
	}
	one.cut.Store(true)
	awaited(t, second, j.ID, "the second attempt", func(j Job) bool { return j.Attempts == 2 })
	one.cut.Store(false)
	var lost *lease.HeldError
	if err := <-cause; !errors.Is(err, errNotOurs) && !errors.As(err, &lost) {
		t.Errorf("the first ended by %v", err)
	}
	close(on)
	if j := awaited(t, second, j.ID, "the end", isDone); j.Result.Passages != 2 || j.Attempts != 2 {
		t.Errorf("%+v", j)
	}
}

// TestSharedCancelled: any server cancels a job, also one that another one runs. One that
// its server's end interrupts waits for any other.
func TestSharedCancelled(t *testing.T) {
	all := &memory{}
	begun := make(chan string, 4)
	first, stop := sharing(
		t,
		&wire{memory: all},
		10*time.Millisecond,
		func(ctx context.Context, task Task) (Result, error) {
			begun <- task.ID
			<-ctx.Done()
			return Result{}, ctx.Err()
		},
	)
	idle := OpenShared(way{&wire{memory: all}, 0}, nil, QueueOptions{})
	var ids []string
	for _, name := range []string{"a", "b", "c"} {
		j, err := first.Submit(t.Context(), Request{Kind: DeleteTagged, Name: name})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, j.ID)
	}
	if _, err := first.Submit(t.Context(), Request{Kind: DeleteTagged, Name: "b"}); refusal(err) != "job_under_way" {
		t.Error(err)
	}
	<-begun
	for _, id := range ids[:2] {
		if _, err := idle.Cancel(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	if id := <-begun; id != ids[2] {
		t.Errorf("job %s begins", id)
	}
	for _, id := range ids[:2] {
		if j, _, _ := idle.Job(t.Context(), id); j.State != Cancelled || j.Error != "" {
			t.Errorf("%+v", j)
		}
		if _, err := idle.Cancel(t.Context(), id); refusal(err) != "job_ended" {
			t.Error(err)
		}
	}
	if _, err := idle.Cancel(t.Context(), "9"); refusal(err) != "unknown_job" {
		t.Error(err)
	}
	stop()
	if j, _, _ := idle.Job(t.Context(), ids[2]); j.State != Queued || j.Attempts != 1 {
		t.Errorf("%+v", j)
	}
	second, _ := sharing(
		t,
		&wire{memory: all},
		lease.Beat,
		func(context.Context, Task) (Result, error) { return Result{}, errors.New("no room") },
	)
	for {
		if j, _, _ := second.Job(t.Context(), ids[2]); j.State.Ended() {
			if j.State != Failed || j.Error != "no room" || j.Attempts != 2 {
				t.Errorf("%+v", j)
			}
			return
		}
		time.Sleep(time.Millisecond)
	}
}
