package jobs

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.org/conclave/internal/disk"
)

// openDir returns the register of the folder dir, and a queue over it that accepts the kind Snapshot and does no jobs.
func openDir(t *testing.T, dir string, log *slog.Logger) (*Queue, *Folder) {
	t.Helper()
	f, err := OpenFolder(disk.OS{}, dir, log)
	if err != nil {
		t.Fatal(err)
	}
	return NewQueue(f, QueueOptions{Kinds: map[string]Handler{Snapshot: {}}}), f
}

// TestDamagedRecords: half of a record that nobody was told of is dropped. A
// record that cannot be understood is set aside and told; the others are done,
// and nobody gets its number.
func TestDamagedRecords(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	none := slog.New(slog.DiscardHandler)
	for _, name := range []string{"a", "b"} {
		q, _ := openDir(t, dir, none)
		submit(t, q, name)
	}
	if err := os.WriteFile(filepath.Join(dir, ".2.json.tmp-1"), []byte(`{"id`), 0o600); err != nil {
		t.Fatal(err)
	}
	if q, f := openDir(t, dir, none); len(listed(t, q)) != 2 || len(f.Damaged()) > 0 {
		t.Errorf("%+v, %q", listed(t, q), f.Damaged())
	}
	for _, text := range []string{`{"id":"2","st`, `{"id":"9","state":"queued"}`, `{"id":"2","state":"quaued"}`, ""} {
		if err := os.WriteFile(filepath.Join(dir, "2.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(filepath.Join(dir, "2.json.damaged"))
		var log strings.Builder
		for again := range 2 { // told until the file is removed
			q, f := openDir(t, dir, slog.New(slog.NewTextHandler(&log, nil)))
			aside := filepath.Join(dir, "2.json.damaged")
			if list := listed(t, q); len(list) != 1 || list[0].ID != "1" || !slices.Equal(f.Damaged(), []string{aside}) ||
				strings.Count(log.String(), "file="+aside) != again+1 {
				t.Errorf("%q: jobs %+v, damaged %q, log %s", text, list, f.Damaged(), log.String())
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
	q, _ := openDir(t, dir, slog.New(slog.DiscardHandler))
	submit(t, q, "a")
	path := filepath.Join(dir, "1.json")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if j, err := readRecord(disk.OS{}, path, "1"); err != nil || j.Name != "a" {
		t.Fatalf("%+v, %v", j, err)
	}
	for bit := range 8 * len(whole) {
		damaged := slices.Clone(whole)
		damaged[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if j, err := readRecord(disk.OS{}, path, "1"); err == nil {
			t.Errorf("with bit %d flipped: %+v", bit, j)
		}
	}
}

// TestPrivate: what jobs keep is for their owner alone.
func TestPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	q, _ := openDir(t, dir, slog.New(slog.DiscardHandler))
	submit(t, q, "a")
	for name, want := range map[string]os.FileMode{"": 0o700, "1.json": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%q: %v, want %v, %v", name, info.Mode(), want, err)
		}
	}
}

// TestNowhereToWrite refuses a job that could not be written down.
func TestNowhereToWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	q, _ := openDir(t, dir, slog.New(slog.DiscardHandler))
	if err := os.WriteFile(dir, nil, 0o644); err != nil { // a file where the folder should be
		t.Fatal(err)
	}
	if _, err := q.Submit(t.Context(), Request{Kind: Snapshot, Name: "a"}); err == nil || len(listed(t, q)) > 0 {
		t.Errorf("%v, %v", err, listed(t, q))
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
	f, err := OpenFolder(disk.OS{}, filepath.Join(t.TempDir(), "jobs"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	q := NewQueue(f, kindsOf(func(_ context.Context, task Task) (Result, error) {
		if task.Name == "cut" {
			return Result{Passages: int(mapped[5000])}, nil
		}
		return Result{}, nil
	}))
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
