package mapped

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.org/conclave/internal/disk"
)

// threeSteps returns a file whose first section takes Verify three steps.
func threeSteps(t *testing.T) (path string, content []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "f")
	long := make([]uint32, verifyStep/4*2+5)
	for i := range long {
		long[i] = uint32(i * i)
	}
	write(t, path, long, nil, []uint32{4})
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, content
}

func opened(t *testing.T, path string) *File {
	t.Helper()
	f, err := Open(disk.OS{}, path, "numbers", 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// TestVerify: whoever asks, and however many at once, hears of damage in any
// section, and which file has it.
func TestVerify(t *testing.T) {
	path, content := threeSteps(t)
	if err := opened(t, path).Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{pageSize, pageSize + verifyStep, pageSize + 2*verifyStep + 19, len(content) - 1} {
		damaged := slices.Clone(content)
		damaged[at] ^= 1
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		f := opened(t, path)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				var damage *DamageError
				if err := f.Verify(t.Context()); !errors.As(err, &damage) || damage.Path != path ||
					!strings.Contains(err.Error(), path+" is damaged") {
					t.Errorf("a bit flipped at %d: %v", at, err)
				}
			})
		}
		all.Wait()
	}
}

// TestVerifyReadsOnce: what was found at first is the answer from then on, while
// Check looks again.
func TestVerifyReadsOnce(t *testing.T) {
	path, content := threeSteps(t)
	f := opened(t, path)
	if err := f.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	last := int64(len(content) - 1)
	if _, err := file.WriteAt([]byte{content[last] ^ 1}, last); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	var damage *DamageError
	if err := f.Check(); !errors.As(err, &damage) {
		t.Errorf("Check: %v", err)
	}
	if err := f.Verify(t.Context()); err != nil {
		t.Errorf("Verify, the second time: %v", err)
	}
}

// looks is a context that ends after it was looked at so often.
type looks struct {
	context.Context
	left int
}

func (c *looks) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// TestVerifyGoesOn: searches with short deadlines do not begin anew each time,
// and the last of them finds the same as one that has time.
func TestVerifyGoesOn(t *testing.T) {
	path, content := threeSteps(t)
	for _, damage := range []bool{false, true} {
		if damage {
			content[pageSize] ^= 1 // in the first step
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f := opened(t, path)
		for step := range 3 { // of the three of the first section
			if err := f.Verify(&looks{t.Context(), 1}); !errors.Is(err, context.DeadlineExceeded) && !(damage && step == 2) {
				t.Fatalf("step %d: %v", step, err)
			}
		}
		var found *DamageError
		if err := f.Verify(&looks{t.Context(), 1}); errors.As(err, &found) != damage || err != nil != damage {
			t.Errorf("damaged: %v, found: %v", damage, err)
		}
	}
}

// TestVerifyWaits: who comes while another reads waits no longer than its own
// context lasts.
func TestVerifyWaits(t *testing.T) {
	path, _ := threeSteps(t)
	f := opened(t, path)
	f.verified.turn <- struct{}{} // somebody reads
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Verify(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting: %v", err)
	}
	<-f.verified.turn
	if err := f.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// BenchmarkVerify measures what the first search of 100 MB pays whose pages the
// system has in memory: from a disk it is what reading them takes.
func BenchmarkVerify(b *testing.B) {
	path := filepath.Join(b.TempDir(), "f")
	content := make([]uint32, 25e6)
	for i := range content {
		content[i] = uint32(i * i)
	}
	write(b, path, content)
	b.SetBytes(int64(4 * len(content)))
	for b.Loop() {
		f, err := Open(disk.OS{}, path, "numbers", 3)
		if err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(f.Verify(b.Context()), f.Close()); err != nil {
			b.Fatal(err)
		}
	}
}
