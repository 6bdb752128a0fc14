package collection

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"conclave/corpus"
)

// logOf writes a log of the given groups of changes, each a frame, rotating
// after the groups that rotate names.
func logOf(t testing.TB, dir string, groups [][]string, rotate ...int) *changeLog {
	t.Helper()
	l, err := openLog(osDisk{}, dir, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, group := range groups {
		var entries []entry
		for _, id := range group {
			entries = append(entries, entry{deleteChange, []byte(id)})
		}
		if _, err := l.append(entries); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(rotate, i) {
			if err := l.rotate(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	return l
}

// replayed lists the ids that a log holds behind a change.
func replayed(dir string, applied uint64) (ids []string, err error) {
	_, err = readLog(filepath.Join(dir, logFolder), applied, func(seq uint64, _ changeKind, content []byte, at logged) error {
		again, err := at.read()
		if err != nil || string(again) != string(content) {
			return fmt.Errorf("change %d reads back as %q, %w", seq, again, err)
		}
		ids = append(ids, fmt.Sprintf("%d:%s", seq, content))
		return nil
	})
	return ids, err
}

func TestLog(t *testing.T) {
	dir := t.TempDir()
	logOf(t, dir, [][]string{{"a", "b"}, {"c"}, {"d", "e", "f"}, {"g"}}, 1)
	all := []string{"1:a", "2:b", "3:c", "4:d", "5:e", "6:f", "7:g"}
	for applied := range uint64(8) {
		got, err := replayed(dir, applied)
		if err != nil || !slices.Equal(got, all[applied:]) {
			t.Fatalf("behind %d: %q, %v", applied, got, err)
		}
	}
	// It goes on where it ended, in a new file; what is in segments is pruned.
	l, err := openLog(osDisk{}, dir, 0, func(uint64, changeKind, []byte, logged) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.append([]entry{{deleteChange, []byte("h")}}); err != nil {
		t.Fatal(err)
	}
	if err := l.prune(6); err != nil {
		t.Fatal(err)
	}
	if names, err := logFiles(l.dir); err != nil || !slices.Equal(names, []string{logName(4), logName(8)}) {
		t.Fatalf("%q, %v", names, err)
	}
	if got, err := replayed(dir, 6); err != nil || !slices.Equal(got, []string{"7:g", "8:h"}) {
		t.Fatalf("%q, %v", got, err)
	}
	if _, err := replayed(dir, 2); err == nil || !strings.Contains(err.Error(), "a file of the log is missing") {
		t.Fatalf("%v", err)
	}
	_ = l.close()
	// A file that was to be removed and came back does no harm, nor does a gap
	// behind it.
	if err := os.WriteFile(filepath.Join(dir, logFolder, logName(1)), []byte("whatever"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := replayed(dir, 7); err != nil || !slices.Equal(got, []string{"8:h"}) {
		t.Fatalf("%q, %v", got, err)
	}
}

// TestLogBytes: the log is as large as its files, and nothing when it is empty.
func TestLogBytes(t *testing.T) {
	l, err := openLog(osDisk{}, t.TempDir(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := l.append([]entry{{deleteChange, []byte("a")}}); err != nil {
			t.Fatal(err)
		}
		if want := fileSize(l.path); l.bytes() != want {
			t.Errorf("%d bytes, the file has %d", l.bytes(), want)
		}
		if err := l.rotate(); err != nil {
			t.Fatal(err)
		}
		if err := l.prune(uint64(i + 1)); err != nil || l.bytes() != 0 {
			t.Errorf("%d bytes in no file, %v", l.bytes(), err)
		}
	}
}

// TestTornLog cuts the last file at every byte, and flips every byte: a last
// frame that is not whole was acknowledged to nobody and is dropped, anything
// else is an error and never a loss.
func TestTornLog(t *testing.T) {
	dir := t.TempDir()
	logOf(t, dir, [][]string{{"a", "b"}, {"c"}, {"d", "e"}, {"f"}}, 1)
	first, second := filepath.Join(dir, logFolder, logName(1)), filepath.Join(dir, logFolder, logName(4))
	whole, err := os.ReadFile(second)
	if err != nil {
		t.Fatal(err)
	}
	frame := frameHeader + 6 // "d" and "e": kind, length, content
	want := func(n int) []string { return []string{"1:a", "2:b", "3:c", "4:d", "5:e", "6:f"}[:n] }
	for cut := range whole {
		if err := os.WriteFile(second, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		n := 3
		if cut >= frame {
			n = 5
		}
		got, err := replayed(dir, 0)
		if err != nil || !slices.Equal(got, want(n)) {
			t.Fatalf("cut to %d of %d bytes: %q, %v", cut, len(whole), got, err)
		}
		// A writer removes the torn end and goes on behind it.
		l, err := openLog(osDisk{}, dir, 0, func(uint64, changeKind, []byte, logged) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.append([]entry{{deleteChange, []byte("new")}}); err != nil {
			t.Fatal(err)
		}
		_ = l.close()
		if got, err := replayed(dir, 0); err != nil || !slices.Equal(got, append(slices.Clone(want(n)), fmt.Sprintf("%d:new", n+1))) {
			t.Fatalf("cut to %d, and one more: %q, %v", cut, got, err)
		}
		_ = os.Remove(filepath.Join(dir, logFolder, logName(uint64(n+1))))
	}
	for at := range whole {
		damaged := slices.Clone(whole)
		damaged[at] ^= 1 << (at % 8)
		if err := os.WriteFile(second, damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := replayed(dir, 0)
		if at < frame && (err == nil || !strings.Contains(err.Error(), "acknowledged changes stand behind it")) {
			t.Fatalf("byte %d of the frame before the last flipped: %q, %v", at, got, err)
		}
		if at >= frame && (err != nil || !slices.Equal(got, want(5))) {
			t.Fatalf("byte %d of the last frame flipped: %q, %v", at, got, err)
		}
	}
	if err := os.WriteFile(second, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(first)
	if err := os.WriteFile(first, data[:len(data)-1], 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := replayed(dir, 0); err == nil {
		t.Fatalf("a file that is not the last, cut: %q", got)
	}
}

// failingDisk fails writes and syncs of logs when it is told to.
type failingDisk struct {
	osDisk
	write, sync, truncate error
}

func (d *failingDisk) Create(path string) (logFile, error) {
	f, err := d.osDisk.Create(path)
	return &failingFile{f, d}, err
}

type failingFile struct {
	logFile
	disk *failingDisk
}

func (f *failingFile) Write(b []byte) (int, error) {
	if f.disk.write != nil {
		n, _ := f.logFile.Write(b[:len(b)/2])
		return n, f.disk.write
	}
	return f.logFile.Write(b)
}

func (f *failingFile) Sync() error { return errors.Join(f.disk.sync, f.logFile.Sync()) }

func (f *failingFile) Truncate(size int64) error {
	if f.disk.truncate != nil {
		return f.disk.truncate
	}
	return f.logFile.Truncate(size)
}

// TestLogDiskFails: a change that could not be logged is an error and does not
// come back; when the disk is well again, so is the log, unless its state is
// unknown.
func TestLogDiskFails(t *testing.T) {
	dir := built(t, BuildOptions{}, []corpus.Passage{{ID: "a", Text: "one"}})
	d := &failingDisk{}
	l := lively(t, d, dir, LiveOptions{FlushAfter: time.Hour})
	try := func(id string) error {
		_, err := l.Apply(t.Context(), []Change{put(corpus.Passage{ID: id, Text: "x"})})
		return err
	}
	if err := try("b"); err != nil {
		t.Fatal(err)
	}
	d.write = syscall.ENOSPC
	if err := try("c"); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "the disk is full") {
		t.Fatal(err)
	}
	if _, _, ok, err := l.Passage("c"); ok || err != nil {
		t.Fatal("a passage that was refused is there", err)
	}
	d.write = nil
	if err := try("d"); err != nil {
		t.Fatal(err)
	}
	d.sync = syscall.EIO
	if err := try("e"); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	d.sync = nil
	if err := try("f"); err == nil || !strings.Contains(err.Error(), "restart when the disk is well") {
		t.Fatalf("after a failed sync: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again := lively(t, osDisk{}, dir, LiveOptions{FlushAfter: time.Hour})
	if err := again.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	g := again.Collection().Acquire()
	defer g.Release()
	got := contents(t, g)
	for id, want := range map[string]bool{"a": true, "b": true, "c": false, "d": true, "f": false} {
		if _, ok := got[id]; ok != want {
			t.Errorf("passage %s is there: %v, want %v", id, ok, want)
		}
	}
}

// FuzzLog reads any bytes as the only file of a log, and as the one before the
// last.
func FuzzLog(f *testing.F) {
	dir := f.TempDir()
	logOf(f, dir, [][]string{{"a", "b"}, {"c"}})
	data, err := os.ReadFile(filepath.Join(dir, logFolder, logName(1)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)-1])
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= frameHeader { // with a checksum that fits, so that more is reached
			sealed := slices.Clone(data)
			sealFrame(sealed, 1, int(data[16])+1)
			_ = eachChange(sealed[frameHeader:], int(data[16])+1, func(_ int, _ changeKind, content []byte, _ int) error {
				var p corpus.Passage
				_ = p.UnmarshalBinary(content)
				return nil
			})
		}
		path := filepath.Join(t.TempDir(), logName(1))
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, isLast := range []bool{true, false} {
			_, _, _ = readLogFile(path, 1, isLast, func(uint64, changeKind, []byte, logged) error { return nil })
		}
	})
}
