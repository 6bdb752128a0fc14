package server

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/documents"
	"example.org/conclave/internal/corpus"
)

// TestWatch puts files into a folder, changes and removes them while a server follows it,
// and asks the server; then once more after a restart, while it was not there.
func TestWatch(t *testing.T) {
	s := newSite(t, named("base"), "base")
	s.config.Documents.Look = 30 * time.Millisecond
	folder := filepath.Join(s.dir, "files")
	s.watch = []string{folder}
	if _, err := s.open(); err == nil || !strings.Contains(err.Error(), "files") {
		t.Fatalf("a folder that is not there: %v", err)
	}
	s.write("files/wiki/bees.md", "# Bees\n\nBees dance to tell the way.")
	earlier := time.Now().Add(-time.Hour) // than the folder is changed by its removal
	if err := os.Chtimes(filepath.Join(folder, "wiki/bees.md"), earlier, earlier); err != nil {
		t.Fatal(err)
	}
	server := s.serve()
	finds := func(question, id string) func() bool {
		return func() bool { return slices.Contains(server.find(question), id) }
	}
	server.until("a file that was there", finds("bees dance", "wiki/bees.md#1"))
	s.write("files/hours.txt", "Open from nine to five.")
	server.until("a new file", finds("open nine", "hours.txt#1"))
	s.write("files/hours.txt", "Open from ten to six, longer than before.")
	server.until("a changed file", func() bool {
		var p corpus.Passage
		server.call("GET", "/v1/passages/hours.txt%231", "", 200, &p)
		return strings.HasPrefix(p.Text, "Open from ten")
	})
	s.write("files/stays.txt", "A file that stays where it is.")
	s.write("files/damaged.docx", "PK\x03\x04 rubbish")
	server.until("a file that cannot be read", func() bool {
		return strings.Contains(server.log.String(), "damaged.docx")
	})
	if err := os.Remove(filepath.Join(folder, "wiki/bees.md")); err != nil {
		t.Fatal(err)
	}
	server.until("a removed file", func() bool { return !slices.Contains(server.find("bees dance"), "wiki/bees.md#1") })
	if n := strings.Count(server.log.String(), "damaged.docx"); n != 1 {
		t.Errorf("a file that cannot be read is told %d times", n)
	}
	if got := server.find("moon"); !slices.Contains(got, "3") {
		t.Errorf("other passages are gone: %q", got)
	}
	server.end()

	if err := os.Remove(filepath.Join(folder, "hours.txt")); err != nil {
		t.Fatal(err)
	}
	s.write("files/new.md", "Parking is free.")
	server = s.serve()
	server.until("a file of meanwhile", finds("parking", "new.md#1"))
	server.until("a file that went meanwhile", func() bool {
		return !slices.Contains(server.find("open ten"), "hours.txt#1")
	})
}

// TestWatchWaitsForAFolder: while the folder that is followed is empty or not there, as before it is mounted, the
// documents stay, searches answer, and /readyz and the log say why; the server starts like that, too. When the
// files are back, so is the rest.
func TestWatchWaitsForAFolder(t *testing.T) {
	s := newSite(t, named("base"), "base")
	s.config.Documents.Look = 30 * time.Millisecond
	folder := filepath.Join(s.dir, "files")
	s.watch = []string{folder}
	s.write("files/bees.md", "# Bees\n\nBees dance to tell the way.")
	s.write("files/hours.txt", "Open from nine to five.")
	server := s.serve()
	finds := func(question, id string) func() bool {
		return func() bool { return slices.Contains(server.find(question), id) }
	}
	says := func(want string) func() bool {
		return func() bool {
			var ready struct {
				Components []struct {
					Name     string
					Warnings []string
				}
			}
			server.call("GET", "/readyz", "", 200, &ready)
			for _, c := range ready.Components {
				if c.Name == "folders" {
					return strings.Contains(strings.Join(c.Warnings, " "), want) && (want != "" || len(c.Warnings) == 0)
				}
			}
			return false
		}
	}
	server.until("the files", finds("bees dance", "bees.md#1"))
	away := filepath.Join(s.dir, "away")
	for _, step := range []func() error{
		func() error { return os.Rename(folder, away) },
		func() error { return os.Mkdir(folder, 0o755) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	server.until("why the documents stay", says("is empty"))
	if !finds("bees dance", "bees.md#1")() || !strings.Contains(server.log.String(), "is empty") {
		t.Errorf("the documents are gone, or nothing says why they stay: %s", server.log.String())
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	server.until("that it is not there", says("no such file"))
	server.end()
	server = s.serve()
	server.until("that it is not there", says("no such file"))
	if err := os.Rename(away, folder); err != nil {
		t.Fatal(err)
	}
	s.write("files/new.md", "Parking is free.")
	server.until("a new file", finds("parking", "new.md#1"))
	server.until("that all is well", says(""))
	if !finds("open nine", "hours.txt#1")() {
		t.Error("a document is gone")
	}
}

// TestHalfWritten makes sure that a file is left alone while it is written, whatever its
// time says.
func TestHalfWritten(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	w := newFollower(nil, documents.NewExtractor(documents.Limits{}, nil), 2*time.Second)
	w.now = func() time.Time { return now }
	file := func(size int64, age time.Duration) documents.FoundFile {
		return documents.FoundFile{Path: "a", At: "a", Size: size, ModTime: now.Add(-age)}
	}
	for _, c := range []struct {
		name   string
		before documents.FoundFile // at the last look; no path: it was not there
		file   documents.FoundFile
		want   bool
	}{
		{"an old file", documents.FoundFile{}, file(5, time.Hour), false},
		{"written a moment ago", documents.FoundFile{}, file(5, time.Second), true},
		{"quiet for long enough", file(5, 3*time.Second), file(5, 3*time.Second), false},
		{"of an old time, and it grows", file(5, time.Hour), file(6, time.Hour), true},
		{"of an old time that changed", file(5, time.Hour), file(5, 2*time.Hour), true},
		{"of tomorrow", documents.FoundFile{}, file(5, -24*time.Hour), true},
		{"of tomorrow, and quiet", file(5, -24*time.Hour), file(5, -24*time.Hour), false},
	} {
		w.before = map[string]fileState{}
		if c.before.Path != "" {
			w.before["a"] = stateOf(c.before)
		}
		if got := w.isBeingWritten(c.file.At, stateOf(c.file)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestHasChanged: files are compared with the collection only when one has come, gone or changed, and nobody writes to
// it any more.
func TestHasChanged(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	old, fresh := fileState{5, now.Add(-time.Hour)}, fileState{6, now.Add(-time.Second)}
	grown := fileState{6, now.Add(-time.Hour)}
	type files = map[string]fileState
	of := func(state fileState) files { return files{"a": state} }
	for _, c := range []struct {
		name                 string
		settled, before, now files
		want                 bool
	}{
		{"nothing was compared yet", nil, nil, nil, true},
		{"the same", of(old), of(old), of(old), false},
		{"one is written", of(old), of(old), of(fresh), false},
		{"one has grown", of(old), of(old), of(grown), false},
		{"and is quiet", of(old), of(grown), of(grown), true},
		{"one has come", files{}, files{}, of(old), true},
		{"one is gone", of(old), of(old), nil, true},
		{"one that was written is as before", of(beingWritten()), of(old), of(old), true},
		{"or gone", of(beingWritten()), of(fresh), nil, true},
		{"or written on", of(beingWritten()), of(old), of(fresh), false},
	} {
		w := newFollower(nil, documents.NewExtractor(documents.Limits{}, nil), 2*time.Second)
		w.now = func() time.Time { return now }
		w.settled, w.before = c.settled, c.before
		if got := w.hasChanged(c.now); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
