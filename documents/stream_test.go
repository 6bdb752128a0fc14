package documents

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestStreamOrder reads a folder of small and large files, some of which cannot be read, by several processes
// and by none: passages and failures come in the order of the paths, alike.
func TestStreamOrder(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 150 {
		name := fmt.Sprintf("%03d.md", i)
		text := fmt.Sprintf("# File %d\n\nIts text.", i)
		switch {
		case i%50 == 7:
			text = ""
		case i%50 == 9:
			text += "\n\n" + strings.Repeat("More of it. ", 5000)
		case i%50 == 11:
			name = fmt.Sprintf("%03d.docx", i)
			text = "PK\x03\x04 rubbish"
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		want = append(want, name)
	}
	var before []string
	for _, pool := range []*Pool{nil, newTestPool(t)} {
		var failed, got []string
		s, err := Open(t.Context(), []string{dir}, Options{
			Limits: limits(), Pool: pool, Words: 100, Failed: func(path string, _ error) { failed = append(failed, path) },
		})
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for {
			p, err := s.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, p.ID+" "+p.Title+" "+p.Text)
			if file := s.Place().File; len(got) == 0 || got[len(got)-1] != file {
				got = append(got, file)
			}
		}
		done, total := s.Progress()
		if err := s.Close(); err != nil || done != total {
			t.Errorf("%v, %d of %d bytes", err, done, total)
		}
		if !slices.Equal(failed, []string{"007.md", "011.docx", "057.md", "061.docx", "107.md", "111.docx"}) {
			t.Errorf("not read: %q", failed)
		}
		read := slices.DeleteFunc(slices.Clone(want), func(name string) bool { return slices.Contains(failed, name) })
		if !slices.Equal(got, read) {
			t.Errorf("the order is %q", got)
		}
		if before != nil && !slices.Equal(all, before) {
			t.Error("processes read other passages than this one")
		}
		before = all
	}
}

// TestStreamCloses: a stream that is closed before its end leaves nothing behind.
func TestStreamCloses(t *testing.T) {
	dir := t.TempDir()
	for i := range 200 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".md")), []byte("# A\n\nb"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := newTestPool(t)
	s, err := Open(t.Context(), []string{dir}, Options{Limits: limits(), Pool: p, Words: 100})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free != p.options.Workers || len(p.order) != 0 {
		t.Errorf("%d processes are free, and %v wait", p.free, p.order)
	}
}
