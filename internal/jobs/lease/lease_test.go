package lease

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// memory is a register.
type memory struct {
	mu      sync.Mutex
	data    []byte
	version int
}

// Read implements Register; the version counts the writes.
func (m *memory) Read(ctx context.Context) ([]byte, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.version == 0 {
		return nil, "", ctx.Err()
	}
	return slices.Clone(m.data), strconv.Itoa(m.version), ctx.Err()
}

// Write implements Register: it stores data if the version is the present one.
func (m *memory) Write(ctx context.Context, data []byte, version string) (string, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if has := strconv.Itoa(m.version); version != has && (version != "" || m.version > 0) || ctx.Err() != nil {
		return has, false, ctx.Err()
	}
	m.data = slices.Clone(data)
	m.version = m.version + 1
	return strconv.Itoa(m.version), true, nil
}

// TestLeaseOfTheDead: the place of a holder without a sign of life is taken after a while,
// and not before; if it lives after all, its work ends, and it is told by whom.
func TestLeaseOfTheDead(t *testing.T) {
	l := Lease{Register: &memory{}, Of: "index passages", Beat: 20 * time.Millisecond}
	dead, err := l.takeLease(t.Context(), "the first", 0)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	err = l.Hold(t.Context(), "the second", 0, func(ctx context.Context) error {
		if waited := time.Since(begun); waited < Gone(l.Beat) {
			t.Errorf("the lease was taken after %v", waited)
		}
		var lost *HeldError
		if err := dead.renewHold(ctx); !errors.As(err, &lost) || !lost.Lost || !strings.Contains(
			err.Error(), "the second",
		) {
			t.Errorf("the first: %v", err)
		}
		if _, err := l.takeLease(ctx, "the third", 0); !errors.As(err, &lost) || lost.Lost {
			t.Errorf("the third: %v", err)
		}
		_, version, err := dead.readHolder(ctx) // as one who did not hear of the second
		if err == nil {
			_, _, err = dead.writeHolder(ctx, holder{Token: "another", Doing: "the fourth"}, version)
		}
		<-ctx.Done()
		return errors.Join(err, ctx.Err())
	})
	var lost *HeldError
	if !errors.As(err, &lost) || !lost.Lost || lost.by.Doing != "the fourth" {
		t.Errorf("%v", err)
	}

	// A process of this system that is gone is not waited for; one of elsewhere is.
	gone := exec.Command("true")
	if err := gone.Run(); err != nil || placeHere() == "" {
		t.Skip("this system does not tell:", err)
	}
	for place, want := range map[string]bool{placeHere(): true, "elsewhere": false} {
		_, version, err := dead.readHolder(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := dead.writeHolder(t.Context(), holder{Token: place, PID: gone.Process.Pid, Place: place},
			version); err != nil {
			t.Fatal(err)
		}
		soon, cancel := context.WithTimeout(t.Context(), Gone(l.Beat)*9/10)
		next, err := l.takeLease(soon, "the next", 0)
		cancel()
		if (err == nil) != want {
			t.Errorf("the lease of a process that is gone, %s: %+v, %v", place, next, err)
		}
	}
}

// TestOneAtATime: of many who wait for it, one has it at a time, and all have it once.
func TestOneAtATime(t *testing.T) {
	l := Lease{Register: &memory{}, Of: "index passages", Beat: 20 * time.Millisecond}
	var group sync.WaitGroup
	inside, all := 0, 0
	for range 8 {
		group.Go(func() {
			if err := l.Hold(t.Context(), "a change", time.Minute, func(context.Context) error {
				if inside++; inside != 1 { // the race detector sees these, too
					t.Errorf("%d have it", inside)
				}
				time.Sleep(3 * time.Millisecond)
				inside--
				all++
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if all != 8 {
		t.Errorf("%d had it", all)
	}
}
