package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running runs a queue until the returned function is called.
func running(t *testing.T, q *Queue) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { q.Run(ctx); close(ended) }()
	return func() { cancel(); <-ended }
}

// open opens a queue whose one kind of work is given.
func open(t *testing.T, dir string, work func(ctx context.Context, task Task) (Result, error)) *Queue {
	t.Helper()
	q, err := Open(dir, QueueOptions{Kinds: map[string]Handler{Snapshot: {Work: work}, AddExpert: {Work: work}}})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func submit(t *testing.T, q *Queue, name string) Job {
	t.Helper()
	j, err := q.Submit(t.Context(), Request{Kind: Snapshot, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func stateOf(t *testing.T, q *Queue, id string) State {
	t.Helper()
	j, ok, _ := q.Job(t.Context(), id)
	if !ok {
		t.Fatalf("job %s is gone", id)
	}
	return j.State
}

func refusal(err error) string {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return fmt.Sprint(err)
}

// TestInOrder runs jobs one at a time, in their order, and tells how they went.
func TestInOrder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	var order []string // one job at a time, so it needs no lock
	ended := make(chan string, 10)
	q := open(t, dir, func(_ context.Context, task Task) (Result, error) {
		order = append(order, task.Name)
		task.Report(Progress{Stage: "reading", Done: 1, Total: 2, Unit: "files"})
		defer func() { ended <- task.ID }()
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
	for range ids {
		<-ended
	}
	stop()
	if !slices.Equal(order, []string{"a", "b", "c", "d"}) {
		t.Errorf("order %v", order)
	}
	for again := range 2 { // as it was in memory, and as it is on disk
		for i, want := range []struct {
			state State
			error string
		}{{Done, ""}, {Failed, "the disk is full"}, {Failed, "never mind"}, {Done, ""}} {
			j, _, _ := q.Job(t.Context(), ids[i])
			if j.State != want.state || !strings.Contains(j.Error, want.error) || j.Attempts != 1 || j.Begun == nil ||
				j.Ended == nil ||
				(want.state == Done) != (j.Result != nil && j.Result.Generation == 7) {
				t.Errorf("pass %d: %+v", again, j)
			}
		}
		if list := listed(q); len(list) != 4 || list[0].ID != ids[3] {
			t.Errorf("list %+v", list)
		}
		q = open(t, dir, nil)
	}
	if next := submit(t, q, "e"); next.ID != "5" {
		t.Errorf("the next job is %s", next.ID)
	}
}

// TestInterrupted ends the process, as it were, in the middle of a job: the
// next one begins it again, with what it had left.
func TestInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	begun := make(chan struct{})
	first := open(t, dir, func(ctx context.Context, task Task) (Result, error) {
		if err := os.WriteFile(task.Scratch, []byte("half"), 0o644); err != nil {
			return Result{}, err
		}
		close(begun)
		<-ctx.Done()
		return Result{}, ctx.Err()
	})
	j := submit(t, first, "a")
	waits := submit(t, first, "b")
	stop := running(t, first)
	<-begun
	killed := open(t, dir, nil) // what a process would find after a kill at this moment
	if got, _, _ := killed.Job(t.Context(), j.ID); got.State != Queued || got.Attempts != 1 {
		t.Errorf("after a kill: %+v", got)
	}
	stop()
	if stateOf(t, first, j.ID) != Queued || stateOf(t, first, waits.ID) != Queued {
		t.Errorf("after an orderly end: %+v", listed(first))
	}
	ended := make(chan string, 2)
	found := ""
	second := open(t, dir, func(_ context.Context, task Task) (Result, error) {
		if data, err := os.ReadFile(task.Scratch); err == nil {
			found += task.Name + string(data)
		}
		ended <- task.ID
		return Result{}, nil
	})
	stop = running(t, second)
	<-ended
	<-ended
	stop()
	if got, _, _ := second.Job(t.Context(), j.ID); got.State != Done || got.Attempts != 2 || found != "ahalf" {
		t.Errorf("%+v, found %q", got, found)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.work")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCancel(t *testing.T) {
	begun := make(chan struct{})
	q := open(t, filepath.Join(t.TempDir(), "jobs"), func(ctx context.Context, _ Task) (Result, error) {
		close(begun)
		<-ctx.Done()
		return Result{}, ctx.Err()
	})
	runs, waits := submit(t, q, "a"), submit(t, q, "b")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-q.wake
		q.one(ctx)
	}()
	<-begun
	for _, id := range []string{waits.ID, runs.ID} {
		if _, err := q.Cancel(t.Context(), id); err != nil {
			t.Errorf("cancelling %s: %v", id, err)
		}
	}
	<-ended
	for _, id := range []string{waits.ID, runs.ID} {
		if got := stateOf(t, q, id); got != Cancelled {
			t.Errorf("job %s is %s", id, got)
		}
		if _, err := q.Cancel(t.Context(), id); refusal(err) != "job_ended" {
			t.Errorf("cancelling %s again: %v", id, err)
		}
	}
	if _, err := q.Cancel(t.Context(), "9"); refusal(err) != "unknown_job" {
		t.Errorf("cancelling what is not there: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	q, err := Open(dir, QueueOptions{Kinds: map[string]Handler{
		Snapshot:  {},
		AddExpert: {Check: func(r Request) error { return Refuse("unknown_bundle", "there is no bundle %q", r.Name) }},
	}})
	if err != nil {
		t.Fatal(err)
	}
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
	if found, _, _, err := readRecords(dir); err != nil || len(found) != mostWaiting {
		t.Errorf("%d records, %v", len(found), err)
	}
}

// TestForget keeps as many ended jobs as it should, and all that have not ended.
func TestForget(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	q, err := Open(dir, QueueOptions{Kinds: map[string]Handler{Snapshot: {}}})
	if err != nil {
		t.Fatal(err)
	}
	first := submit(t, q, "waits")
	for n := range mostEnded + 2 {
		if _, err := q.Cancel(t.Context(), submit(t, q, fmt.Sprint(n)).ID); err != nil {
			t.Fatal(err)
		}
	}
	last := submit(t, q, "waits, too")
	for _, q := range []*Queue{q, open(t, dir, nil)} {
		list := listed(q)
		if len(list) != mostEnded+2 || list[0].ID != last.ID || list[1].Name != fmt.Sprint(mostEnded+1) ||
			list[mostEnded].Name != "2" ||
			list[mostEnded+1].ID != first.ID {
			t.Errorf("kept: %d, %+v", len(list), list)
		}
	}
}

// TestDamagedRecords: half of a record that nobody was told of is dropped. A
// record that cannot be understood is set aside and told; the others are done,
// and nobody gets its number.
func TestDamagedRecords(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	submit(t, open(t, dir, nil), "a")
	submit(t, open(t, dir, nil), "b")
	if err := os.WriteFile(filepath.Join(dir, ".2.json.tmp-1"), []byte(`{"id`), 0o600); err != nil {
		t.Fatal(err)
	}
	if q := open(t, dir, nil); len(listed(q)) != 2 || len(q.Damaged()) > 0 {
		t.Errorf("%+v, %q", listed(q), q.Damaged())
	}
	for _, text := range []string{`{"id":"2","st`, `{"id":"9","state":"queued"}`, `{"id":"2","state":"quaued"}`, ""} {
		if err := os.WriteFile(filepath.Join(dir, "2.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(filepath.Join(dir, "2.json.damaged"))
		var log strings.Builder
		for again := range 2 { // told until the file is removed
			q, err := Open(
				dir,
				QueueOptions{Logger: slog.New(slog.NewTextHandler(&log, nil)), Kinds: map[string]Handler{Snapshot: {}}},
			)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			aside := filepath.Join(dir, "2.json.damaged")
			if list := listed(q); len(list) != 1 || list[0].ID != "1" || !slices.Equal(q.Damaged(), []string{aside}) ||
				strings.Count(log.String(), "file="+aside) != again+1 {
				t.Errorf("%q: jobs %+v, damaged %q, log %s", text, list, q.Damaged(), log.String())
			}
			if got, err := os.ReadFile(aside); err != nil || string(got) != text {
				t.Errorf("set aside: %q, %v", got, err)
			}
			if next := submit(t, q, "c"); next.ID != "3" {
				t.Errorf("the next job is %s", next.ID)
			}
			if err := os.Remove(filepath.Join(dir, "3.json")); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestRecordsAreChecked: no bit of a job's record can change without that being
// found, except that the record is then of another kind of file.
func TestRecordsAreChecked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	submit(t, open(t, dir, nil), "a")
	path := filepath.Join(dir, "1.json")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if j, err := readRecord(path, "1"); err != nil || j.Name != "a" {
		t.Fatalf("%+v, %v", j, err)
	}
	for bit := range 8 * len(whole) {
		damaged := slices.Clone(whole)
		damaged[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if j, err := readRecord(path, "1"); err == nil {
			t.Errorf("with bit %d flipped: %+v", bit, j)
		}
	}
}

// TestPrivate: what jobs keep is for their owner alone.
func TestPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	submit(t, open(t, dir, nil), "a")
	for name, want := range map[string]os.FileMode{"": 0o700, "1.json": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%q: %v, want %v, %v", name, info.Mode(), want, err)
		}
	}
}

// TestNowhereToWrite refuses a job that could not be written down.
func TestNowhereToWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	q := open(t, dir, nil)
	if err := os.WriteFile(dir, nil, 0o644); err != nil { // a file where the folder should be
		t.Fatal(err)
	}
	if _, err := q.Submit(t.Context(), Request{Kind: Snapshot, Name: "a"}); err == nil || len(listed(q)) > 0 {
		t.Errorf("%v, %v", err, listed(q))
	}
}

// TestWorkOnACutFile: work that reads a mapped file which was cut fails, and
// the next job is done.
func TestWorkOnACutFile(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Truncate(1 << 16); err != nil {
		t.Fatal(err)
	}
	mapped, err := syscall.Mmap(int(file.Fd()), 0, 1<<16, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(syscall.Munmap(mapped), file.Close()); err != nil {
			t.Error(err)
		}
	}()
	if err := file.Truncate(0); err != nil {
		t.Fatal(err)
	}
	q := open(t, filepath.Join(t.TempDir(), "jobs"), func(_ context.Context, task Task) (Result, error) {
		if task.Name == "cut" {
			return Result{Passages: int(mapped[5000])}, nil
		}
		return Result{}, nil
	})
	cut, whole := submit(t, q, "cut"), submit(t, q, "whole")
	stop := running(t, q)
	defer stop()
	for {
		first, _, _ := q.Job(t.Context(), cut.ID)
		second, _, _ := q.Job(t.Context(), whole.ID)
		if !second.State.Ended() {
			time.Sleep(time.Millisecond)
			continue
		}
		if first.State != Failed || second.State != Done {
			t.Errorf("%s and %s: %s", first.State, second.State, first.Error)
		}
		return
	}
}

func listed(q *Queue) []Job {
	all, _ := q.Jobs(context.Background()) // never an error
	return all
}
