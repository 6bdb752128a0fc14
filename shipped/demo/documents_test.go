package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/documents"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/provision"
)

var update = flag.Bool("update", false, "write questions/documents anew")

// TestMain serves as the process that reads files, too.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "serve-files" {
		o := documents.ServeOptions{Cache: os.Args[2], Memory: 512 << 20}
		if err := documents.Serve(context.Background(), os.Stdin, os.Stdout, o); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestDocuments: as 'conclave demo' reads and cuts them, the documents have each passage whole, in
// one place, below its title; and questions/documents names these places.
func TestDocuments(t *testing.T) {
	places := map[string]string{} // by the ids of passages
	cut := readDocuments(t)
	for _, passages := range allPassages(t) {
		for _, p := range passages {
			var at []string
			for _, c := range cut {
				if strings.Contains(joined(c.Text), joined(latin(p.Text))) && strings.Contains(c.Title, latin(p.Title)) {
					at = append(at, c.ID)
				}
			}
			if len(at) != 1 {
				t.Errorf("%s is in %q", p.ID, at)
				continue
			}
			places[p.ID] = at[0]
		}
	}
	for split, questions := range allQuestions(t) {
		for i := range questions {
			questions[i].PositiveIDs = placed(questions[i].PositiveIDs, places)
		}
		compareLines(t, split+".jsonl", questions)
	}
	for name, turns := range allTurns(t) {
		for i := range turns {
			turns[i].PositiveIDs = placed(turns[i].PositiveIDs, places)
		}
		compareLines(t, filepath.Join("conversations", name), turns)
	}
}

// placed returns where passages are, each place once.
func placed(passages []string, places map[string]string) (at []string) {
	for _, id := range passages {
		if !slices.Contains(at, places[id]) {
			at = append(at, places[id])
		}
	}
	return at
}

// compareLines compares lines with a file below questions/documents; with -update it writes the file.
func compareLines[T any](t *testing.T, name string, lines []T) {
	t.Helper()
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetEscapeHTML(false)
	for _, line := range lines {
		if err := encoder.Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	name = filepath.Join("questions", "documents", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not of these documents: go test ./shipped/demo -run TestDocuments -update", name)
	}
}

// readDocuments writes the documents into a cache and reads them.
func readDocuments(t *testing.T) (all []corpus.Passage) {
	t.Helper()
	at, err := Documents(provision.Cache{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(os.TempDir(), "conclave-test-pdf")
	if folder, err := os.UserCacheDir(); err == nil {
		cache = filepath.Join(folder, "conclave", "pdf")
	}
	d := configs.Defaults().Documents
	readers := documents.NewPool(documents.PoolOptions{
		Start: func() *exec.Cmd { return exec.Command(os.Args[0], "serve-files", cache) },
	})
	defer func() { _ = readers.Close() }()
	source, err := documents.Open(t.Context(), []string{at}, documents.Options{
		Limits: documents.Limits{
			FileBytes:     int64(d.FileBytes),
			UnpackedBytes: int64(d.UnpackedBytes),
			TextBytes:     1 << 20,
			Blocks:        d.Blocks,
			Time:          time.Minute,
			Depth:         d.Depth,
			Members:       d.Members,
		},
		Pool:   readers,
		Words:  d.Words,
		Failed: func(path string, err error) { t.Errorf("%s: %v", path, err) },
		Warned: func(path, warning string) { // running heads are left out of PDF, and navigation of pages
			running := strings.HasSuffix(path, ".pdf") && strings.Contains(warning, "at the top or foot of pages")
			navigation := strings.HasSuffix(path, ".html") && strings.Contains(warning, "as navigation")
			if !running && !navigation {
				t.Errorf("%s: %s", path, warning)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	for {
		p, err := source.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// joined returns a text with single spaces for all space in it.
func joined(text string) string { return strings.Join(strings.Fields(text), " ") }

// latin returns a text with the plain quotes and dashes that a PDF's standard fonts have.
func latin(text string) string {
	return strings.NewReplacer("’", "'", "‘", "'", "“", `"`, "”", `"`, "–", "-", "—", "-", "…", "...").Replace(text)
}

// TestDocumentsOfACache: they are written once, and by any number of processes at a time.
func TestDocumentsOfACache(t *testing.T) {
	cache := provision.Cache{Root: t.TempDir()}
	done := make(chan error)
	for range 4 {
		go func() {
			_, err := Documents(cache)
			done <- err
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	entries, err := os.ReadDir(demoFolder(cache))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	if err := MakeRoom(cache, "other"); err != nil {
		t.Fatal(err)
	}
	if at, err := Documents(cache); err != nil || filepath.Base(at) != entries[0].Name() {
		t.Errorf("%s, %v", at, err)
	}
}
