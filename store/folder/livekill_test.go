package folder

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

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
)

// crashOptions flush and merge all the time.
func crashOptions() LiveOptions {
	return LiveOptions{
		Build: store.BuildOptions{
			Experts: []store.PassageEncoder{&hashEncoder{name: "a", dimension: 4}},
			Index:   store.Index{Kind: "flat"},
		},
		FlushAfter: 2 * time.Millisecond, FlushPassages: 10, Merge: MergePolicy{Factor: 3, Smallest: 10},
	}
}

func numbered(id string, n int) corpus.Passage {
	return corpus.Passage{
		ID:   id,
		Text: fmt.Sprintf("text number%d word%d", n, n%7),
		Tags: []string{fmt.Sprint("third", n%3), "numbered"},
	}
}

// childLive opens a collection, on a disk that fails until it can be opened, and changes it from
// several goroutines for ever. It says of each change that it begins it, and that
// it was acknowledged or failed, of which nobody knows what became: "id number"
// for a put, "id 0" for a deletion.
func childLive(d disk.Disk, dir string) error {
	_, well := d.(disk.OS)
	o := crashOptions()
	o.retry = time.Millisecond
	var l *Live
	for l == nil {
		var err error
		l, err = openLive(d, dir, o)
		if err != nil && well {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	for worker := range 3 {
		go func() {
			rng := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(worker)))
			for {
				id := fmt.Sprintf("w%d-%d", worker, rng.IntN(30))
				n := 1 + rng.IntN(1000000)
				change := store.Change{Delete: id}
				if rng.IntN(3) == 0 {
					n = 0
				} else {
					change = put(numbered(id, n))
				}
				fmt.Printf("begin %s %d\n", id, n)
				results, err := l.Apply(context.Background(), []store.Change{change})
				if err == nil {
					err = results[0].Err
				}
				if err != nil {
					fmt.Printf("failed %s %d\n", id, n)
					time.Sleep(time.Millisecond)
					continue
				}
				fmt.Printf("done %s %d\n", id, n)
				if well && rng.IntN(20) == 0 {
					if err := l.Wait(context.Background(), results[0].Seq); err != nil {
						fmt.Printf("failed %s %d\n", id, n)
					}
				}
			}
		}()
	}
	select {}
}

// childFaulty works as childLive does on a disk of which operations fail at random,
// now seldom, now often, now all.
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
	return childLive(d, dir)
}

// TestLiveKilled kills a child under write load at random instants. After each
// kill every acknowledged passage is there, no deleted one is, and Verify passes.
// CONCLAVE_TEST_KILLS is how many kills.
func TestLiveKilled(t *testing.T) {
	t.Parallel()
	if failed := kill(t, "live", "CONCLAVE_TEST_KILLS", 10, 80); failed > 0 {
		t.Errorf("%d changes failed on a disk that is well", failed)
	}
}

// TestFaultsKilled works as TestLiveKilled does while operations on the child's
// disk fail at random; it is looked at on a disk that is well.
// CONCLAVE_TEST_FAULT_KILLS is how many kills.
func TestFaultsKilled(t *testing.T) {
	t.Parallel()
	if failed := kill(t, "faulty", "CONCLAVE_TEST_FAULT_KILLS", 6, 300); failed == 0 {
		t.Error("no change failed")
	}
}

// seedOf returns CONCLAVE_TEST_SEED, or the seed of every ordinary run.
func seedOf(t *testing.T) uint64 {
	text := os.Getenv("CONCLAVE_TEST_SEED")
	if text == "" {
		return 15
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}

// kill kills children of a kind, each after so many lines at most, and says how
// many changes failed.
func kill(t *testing.T, kind, variable string, kills, lines int) (failed int) {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		kills = n
	}
	seed := seedOf(t)
	rng := rand.New(rand.NewPCG(seed, 7))
	dir := built(t, crashOptions().Build, []corpus.Passage{{ID: "first", Text: "x"}})
	may := map[string][]int{} // by id what may be there; 0 is nothing
	acknowledged, undecided := 0, 0
	for n := range kills {
		cmd := child(t, kind, dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		fate := newFate(rng, cmd, n, 8+rng.IntN(lines))
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fate.line()
			var word, id string
			var number int
			if _, err := fmt.Sscan(lines.Text(), &word, &id, &number); err != nil {
				break // cut off by the kill
			}
			switch word {
			case "begin":
				if may[id] == nil {
					may[id] = []int{0}
				}
				may[id] = append(may[id], number)
			case "done":
				may[id] = []int{number}
				acknowledged++
			case "failed":
				failed++
			default:
				t.Fatalf("kill %d: the child says %q", n, lines.Text())
			}
		}
		err = cmd.Wait()
		fate.end()
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
			t.Fatalf("kill %d: the child ended by itself: %v", n, err)
		}
		if _, err := Verify(t.Context(), dir, nil); err != nil {
			t.Fatalf("kill %d: %v", n, err)
		}
		undecided += checkAcknowledged(t, n, dir, may)
	}
	m, err := readManifest(disk.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf(
		"%d kills (seed %d): %d changes acknowledged, %d failed, %d passages undecided when killed, generation %d, %d segments",
		kills,
		seed,
		acknowledged,
		failed,
		undecided,
		m.Generation,
		len(m.Segments),
	)
	if acknowledged < kills || kind == "live" && m.Generation < uint64(kills)/2 {
		t.Errorf("only %d changes were acknowledged in %d generations", acknowledged, m.Generation)
	}
	return failed
}

// checkAcknowledged compares a collection with what may be there, before and
// after a flush, which settles it. It says of how many passages it was open.
func checkAcknowledged(t *testing.T, kill int, dir string, may map[string][]int) (undecided int) {
	t.Helper()
	o := crashOptions()
	o.FlushAfter = time.Hour
	o.Merge.Off = true
	l, err := OpenLive(dir, o)
	if err != nil {
		t.Fatalf("kill %d: %v", kill, err)
	}
	defer func() { _ = l.Close() }()
	live := 1 // "first"
	for id, numbers := range may {
		p, _, ok, err := l.Passage(t.Context(), id, anyRoom)
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
