package collection

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"conclave/corpus"
	"conclave/disk"
)

// childFaulty is childLive on a disk of which operations fail at random, now
// seldom, now often, now all. It says of each change that it begins it, and that
// it was acknowledged or failed, of which nobody knows what became; and at its
// end, if it comes to that, how many operations failed.
func childFaulty(dir string) error {
	rng := rand.New(rand.NewPCG(uint64(os.Getpid()), 15))
	d := &faultyDisk{Disk: disk.OS{}}
	chance := rand.New(rand.NewPCG(uint64(os.Getpid()), 16)) // used with the disk's mutex held
	go func() {
		for {
			switch rng.IntN(4) {
			case 0:
				d.inject(nil)
			case 1:
				d.inject(atRandom(chance, 1, faultErrors[rng.IntN(len(faultErrors))]))
			default:
				d.inject(atRandom(chance, 2+rng.IntN(60), faultErrors...))
			}
			time.Sleep(time.Duration(rng.IntN(15)) * time.Millisecond)
		}
	}()
	o := crashOptions()
	o.retry = time.Millisecond
	var l *Live
	for l == nil {
		var err error
		if l, err = openLive(d, dir, o); err != nil {
			time.Sleep(time.Millisecond)
		}
	}
	for worker := range 3 {
		go func() {
			rng := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(worker)))
			for {
				id := fmt.Sprintf("w%d-%d", worker, rng.IntN(30))
				n, change := 1+rng.IntN(1000000), Change{Delete: id}
				if rng.IntN(3) == 0 {
					n = 0
				} else {
					change = put(numbered(id, n))
				}
				fmt.Printf("begin %s %d\n", id, n)
				results, err := l.Apply(context.Background(), []Change{change})
				if err == nil {
					err = results[0].Err
				}
				if err != nil {
					fmt.Printf("failed %s %d\n", id, n)
					time.Sleep(time.Millisecond)
					continue
				}
				fmt.Printf("done %s %d\n", id, n)
			}
		}()
	}
	select {}
}

// TestFaultsKilled kills a child that writes while operations on its disk fail
// at random. After each kill, on a disk that is well, every acknowledged passage
// is there, no deleted one is, and Verify passes. CONCLAVE_TEST_FAULT_KILLS is
// how many kills.
func TestFaultsKilled(t *testing.T) {
	t.Parallel()
	kills := 6
	if n, err := strconv.Atoi(os.Getenv("CONCLAVE_TEST_FAULT_KILLS")); err == nil {
		kills = n
	}
	const seed = 15
	rng := rand.New(rand.NewPCG(seed, 7))
	dir := built(t, crashOptions().Build, []corpus.Passage{{ID: "first", Text: "x"}})
	may := map[string][]int{} // by id what may be there; 0 is nothing
	acknowledged, refused, undecided := 0, 0, 0
	for kill := range kills {
		cmd := child(t, "faulty", dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		fate := newFate(rng, cmd, kill, 8+rng.IntN(300))
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fate.line()
			var word, id string
			var n int
			if _, err := fmt.Sscan(lines.Text(), &word, &id, &n); err != nil {
				break // cut off by the kill
			}
			switch word {
			case "begin":
				if may[id] == nil {
					may[id] = []int{0}
				}
				may[id] = append(may[id], n)
			case "done":
				may[id] = []int{n}
				acknowledged++
			case "failed":
				refused++
			default:
				t.Fatalf("kill %d: the child says %q", kill, lines.Text())
			}
		}
		err = cmd.Wait()
		fate.end()
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
			t.Fatalf("kill %d: the child ended by itself: %v", kill, err)
		}
		if _, err := Verify(t.Context(), dir, nil); err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
		undecided += checkAcknowledged(t, kill, dir, may)
	}
	m, err := readManifest(disk.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d kills (seed %d): %d changes acknowledged, %d failed, %d passages undecided when killed, generation %d, %d segments", kills, seed, acknowledged, refused, undecided, m.Generation, len(m.Segments))
	if acknowledged < kills || refused == 0 {
		t.Errorf("%d changes were acknowledged and %d failed", acknowledged, refused)
	}
}

// checkAcknowledged compares a collection with what may be there, before and
// after a flush, which settles it. It says of how many passages it was open.
func checkAcknowledged(t *testing.T, kill int, dir string, may map[string][]int) (undecided int) {
	t.Helper()
	o := crashOptions()
	o.FlushAfter, o.Merge.Off = time.Hour, true
	l, err := OpenLive(dir, o)
	if err != nil {
		t.Fatalf("kill %d: %v", kill, err)
	}
	defer func() { _ = l.Close() }()
	live := 1 // "first"
	for id, numbers := range may {
		p, _, ok, err := l.Passage(id)
		if err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
		n := 0
		if ok {
			_, _ = fmt.Sscanf(strings.TrimPrefix(p.Text, "text "), "number%d", &n)
			live++
		}
		if !slices.Contains(numbers, n) {
			t.Fatalf("kill %d: %s is %d, acknowledged or begun was %d", kill, id, n, numbers)
		}
		if len(numbers) > 1 {
			undecided++
		}
		may[id] = []int{n}
	}
	if err := l.Flush(t.Context()); err != nil {
		t.Fatalf("kill %d: %v", kill, err)
	}
	g := l.Collection().Acquire()
	defer g.Release()
	got := contents(t, g)
	for id, numbers := range may {
		if p, ok := got[id]; ok != (numbers[0] != 0) || ok && p.Text != numbered(id, numbers[0]).Text {
			t.Fatalf("kill %d: searches see %s as %+v, it was %d", kill, id, p, numbers[0])
		}
	}
	if len(got) != live || g.Len() != live {
		t.Fatalf("kill %d: %d passages are live, %d should be", kill, len(got), live)
	}
	return undecided
}
