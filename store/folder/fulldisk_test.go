package folder

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"

	"golang.org/x/sys/unix"
)

// childConfinedLive changes a collection under a limit on the size of files,
// which is what a full disk looks like to a writer: first the segments do not
// fit, then not the log either. It says which changes were acknowledged.
func childConfinedLive(dir string) error {
	signal.Ignore(unix.SIGXFSZ)
	limit := unix.Rlimit{Cur: 6 << 10, Max: 6 << 10}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	o := crashOptions()
	var troubles atomic.Int64
	o.Failed = func(error) { troubles.Add(1) }
	l, err := OpenLive(dir, o)
	if err != nil {
		return err
	}
	refused := 0
	for i := 0; refused < 50 || troubles.Load() == 0; i++ {
		if i == 1_000_000 {
			return errors.New("neither segments nor the log ran into the limit")
		}
		id := fmt.Sprint("c", i%300)
		results, err := l.Apply(context.Background(), []store.Change{put(numbered(id, i+1))})
		if err == nil {
			err = results[0].Err
		}
		if err == nil {
			fmt.Printf("done %s %d\n", id, i+1)
			continue
		}
		if !strings.Contains(err.Error(), "file too large") {
			return fmt.Errorf("another error than was to be expected: %w", err)
		}
		refused++
		time.Sleep(time.Millisecond)
	}
	fmt.Printf("refused %d %d\n", refused, troubles.Load())
	_ = l.Close() // flushes that failed leave their changes in the log
	return nil
}

// TestLiveFullDisk: where neither segments nor the log can grow, changes are
// refused with a clear error, and those that were acknowledged are all there once
// there is room again.
func TestLiveFullDisk(t *testing.T) {
	t.Parallel()
	dir := built(t, crashOptions().Build, []corpus.Passage{{ID: "first", Text: "x"}})
	out, err := child(t, "confinedLive", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v, %s", err, out)
	}
	state := map[string][]int{}
	refused := 0
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var word, id string
		var n int
		if _, err := fmt.Sscan(lines.Text(), &word, &id, &n); err != nil {
			t.Fatalf("%v in %q", err, lines.Text())
		}
		if word == "refused" {
			refused++
		} else {
			state[id] = []int{n}
		}
	}
	if refused != 1 || len(state) < 10 {
		t.Fatalf("%d changes acknowledged: %s", len(state), out)
	}
	checkAcknowledged(t, 0, dir, state)
	if _, err := Verify(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
}
