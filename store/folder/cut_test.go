package folder

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
)

// cutting is an encoder that cuts a file when it is asked the first time.
type cutting struct {
	*hashEncoder
	cut func()
}

func (c *cutting) EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error) {
	c.cut()
	return c.hashEncoder.EncodePassages(ctx, passages)
}

// TestCutWhileItIsChanged: a file of passages that is cut while a change of the
// collection reads it fails that change, and neither the process nor what was
// published.
func TestCutWhileItIsChanged(t *testing.T) {
	passages := randomPassages(90, 3000)
	for name, change := range map[string]func(dir string, cut func()) error{
		"adding an expert": func(dir string, cut func()) error {
			_, err := AddExpert(t.Context(), dir, &cutting{&hashEncoder{name: "x", dimension: 4}, cut}, store.BuildOptions{Index: store.Index{Kind: "flat"}})
			return err
		},
		"adding an expert to a live one": func(dir string, cut func()) error {
			l := lively(t, disk.OS{}, dir, LiveOptions{FlushAfter: time.Hour})
			_, err := l.AddExpert(t.Context(), &cutting{&hashEncoder{name: "x", dimension: 4}, cut}, store.BuildOptions{Index: store.Index{Kind: "flat"}})
			return err
		},
		"rebuilding words": func(dir string, cut func()) error {
			_, err := RebuildWords(t.Context(), dir, bm25.DefaultParams(), store.BuildOptions{Progress: func(p store.Progress) {
				if p.Stage == store.Words {
					cut()
				}
			}})
			return err
		},
		"deleting": func(dir string, cut func()) error {
			_, err := withWriter(dir, func(w *writer) (int, error) {
				cut()
				return w.delete(t.Context(),
					[]string{passages[2900].ID})
			})
			return err
		},
	} {
		dir := built(t, store.BuildOptions{}, passages)
		path := filepath.Join(dir, "seg-000001", storeName)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		cut := func() {
			if err := os.Truncate(path, 4096); err != nil {
				t.Error(err)
			}
		}
		if err := change(dir, cut); !errors.Is(err, disk.ErrFault) {
			t.Errorf("%s: %v, want %v", name, err, disk.ErrFault)
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := Verify(t.Context(), dir, nil); err != nil || r.Generation != 1 {
			t.Errorf("%s: generation %d, %v", name, r.Generation, err)
		}
	}
}
