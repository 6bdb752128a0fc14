package folder

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"

	"golang.org/x/sys/unix"
)

// childVariable names what this test binary does instead of testing, when it is
// started as a child that is to be killed or confined.
const childVariable = "CONCLAVE_TEST_CHILD"

func TestMain(m *testing.M) {
	task, dir, _ := strings.Cut(os.Getenv(childVariable), " ")
	var err error
	switch task {
	case "":
		os.Exit(m.Run())
	case "grow":
		err = childGrow(dir)
	case "live":
		err = childLive(disk.OS{}, dir)
	case "faulty":
		err = childFaulty(dir)
	case "confined":
		err = childConfined(dir)
	case "confinedLive":
		err = childConfinedLive(dir)
	case "readonly":
		err = childReadOnly(dir)
	default:
		err = fmt.Errorf("unknown task %q", task)
	}
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child starts this test binary with a task.
func child(t *testing.T, task, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"="+task+" "+dir)
	return cmd
}

// fate kills a child: every third time at a random instant after its start, so
// that it is killed while it recovers as well, and otherwise at a random instant
// after it has said a number of lines, so that it gets somewhere however busy the
// machine is.
type fate struct {
	cmd   *exec.Cmd
	left  int // lines to go
	after time.Duration
	timer *time.Timer
}

func newFate(rng *rand.Rand, cmd *exec.Cmd, kill, lines int) *fate {
	f := &fate{cmd: cmd, left: lines, after: time.Duration(rng.IntN(30)) * time.Millisecond}
	if kill%3 == 2 {
		f.left = 0
		f.begin(time.Duration(10+rng.IntN(200)) * time.Millisecond)
	}
	return f
}

func (f *fate) begin(after time.Duration) {
	f.timer = time.AfterFunc(after, func() { _ = f.cmd.Process.Kill() })
}

// line takes note of each line that the child said.
func (f *fate) line() {
	if f.left--; f.left == 0 {
		f.begin(f.after)
	}
}

func (f *fate) end() {
	if f.timer != nil {
		f.timer.Stop()
	}
}

const growBy = 20

func grown(i int) corpus.Passage {
	return corpus.Passage{
		ID:    fmt.Sprintf("p%d", i),
		Title: fmt.Sprintf("title %d", i%7),
		Text:  fmt.Sprintf("word%d word%d number%d", i%13, i%17, i),
	}
}

// childGrow adds passages and experts and rebuilds words for ever, and says each number of
// passages when it was acknowledged.
func childGrow(dir string) error {
	a, b := &hashEncoder{name: "a", dimension: 8}, &hashEncoder{name: "b", dimension: 4}
	o := store.BuildOptions{Experts: []store.PassageEncoder{a}}
	ctx := context.Background()
	for {
		n := 0
		if c, err := Open(dir); err == nil {
			g := c.Acquire()
			n = g.Len()
			if _, ok := g.Expert("b"); ok {
				if err := RemoveExpert(ctx, dir, "b"); err != nil {
					return err
				}
			}
			g.Release()
			_ = c.Close()
		}
		var passages []corpus.Passage
		for i := range growBy {
			passages = append(passages, grown(n+i))
		}
		add := Add
		if n == 0 {
			add = Build
		}
		if _, err := add(ctx, dir, of(passages), o); err != nil {
			return err
		}
		fmt.Println(n + growBy)
		if _, err := AddExpert(ctx, dir, b, store.BuildOptions{}); err != nil {
			return err
		}
		words, err := WordParams(dir)
		if err != nil {
			return err
		}
		words.Phrases = !words.Phrases
		if _, err := RebuildWords(ctx, dir, words, store.BuildOptions{}); err != nil {
			return err
		}
	}
}

// TestKilled kills a writing child at random instants. What it acknowledged is
// there, whole, and the next child goes on from it.
func TestKilled(t *testing.T) {
	t.Parallel()
	kills := 10
	if n, err := strconv.Atoi(os.Getenv("CONCLAVE_TEST_KILLS")); err == nil {
		kills = n
	}
	seed := uint64(1)
	rng := rand.New(rand.NewPCG(seed, 5))
	dir := filepath.Join(t.TempDir(), "index")
	acknowledged := 0
	generations := map[uint64]bool{}
	for kill := range kills {
		cmd := child(t, "grow", dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		fate := newFate(rng, cmd, kill, 1+rng.IntN(6))
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			fate.line()
			n, err := strconv.Atoi(lines.Text())
			if err != nil {
				t.Fatalf("kill %d: the child says %q", kill, lines.Text())
			}
			acknowledged = n
		}
		err = cmd.Wait()
		fate.end()
		var ended *exec.ExitError
		if !errors.As(err, &ended) || !ended.Sys().(syscall.WaitStatus).Signaled() {
			t.Fatalf("kill %d: the child ended by itself: %v", kill, err)
		}
		if acknowledged == 0 && !exists(filepath.Join(dir, manifest.FileName)) {
			continue
		}
		c, err := Open(dir)
		if err != nil && acknowledged == 0 {
			continue
		}
		if err != nil {
			t.Fatalf("kill %d (seed %d): %v", kill, seed, err)
		}
		g := c.Acquire()
		if n := g.Len(); n != acknowledged && n != acknowledged+growBy {
			t.Fatalf("kill %d (seed %d): %d passages, acknowledged were %d", kill, seed, n, acknowledged)
		}
		acknowledged = g.Len() // the next child begins from here
		for i := range g.Len() {
			o, ok, err := g.Ordinal(grown(i).ID)
			if err != nil || !ok {
				t.Fatalf("kill %d (seed %d): passage %d: %v, %v", kill, seed, i, ok, err)
			}
			if p, err := g.Passage(o); err != nil || p.Text != grown(i).Text {
				t.Fatalf("kill %d (seed %d): passage %d: %+v, %v", kill, seed, i, p, err)
			}
		}
		generations[g.Number()] = true
		g.Release()
		_ = c.Close()
		if _, err := Verify(t.Context(), dir, nil); err != nil {
			t.Fatalf("kill %d (seed %d): %v", kill, seed, err)
		}
	}
	t.Logf("%d kills, %d passages, %d different generations found", kills, acknowledged, len(generations))
	// The next writer clears what the last kill left.
	w, err := openWriter(disk.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for i := range w.manifest.Segments {
		files += len(w.manifest.Segments[i].Files())
	}
	if left := tree(t, dir); len(left) != files+1 {
		t.Errorf("%d files are left, the manifest names %d", len(left), files)
	}
	_ = w.Close()
}

// childConfined adds to a collection with a limit on the size of files, which
// is what a full disk looks like to a writer.
func childConfined(dir string) error {
	signal.Ignore(unix.SIGXFSZ)
	limit := unix.Rlimit{Cur: 20 << 10, Max: 20 << 10}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	var passages []corpus.Passage
	for i := range 2000 {
		passages = append(passages, corpus.Passage{ID: fmt.Sprint("new", i), Text: "some text that takes space"})
	}
	_, err := Add(
		context.Background(),
		dir,
		of(passages),
		store.BuildOptions{Experts: []store.PassageEncoder{&hashEncoder{name: "a", dimension: 8}}},
	)
	return err
}

// TestFullDisk: a write that fails is a clear error, and the collection is as
// it was.
func TestFullDisk(t *testing.T) {
	dir := built(
		t,
		store.BuildOptions{Experts: []store.PassageEncoder{&hashEncoder{name: "a", dimension: 8}}},
		randomPassages(1, 30),
	)
	before := tree(t, dir)
	out, err := child(t, "confined", dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "file too large") ||
		!strings.Contains(string(out), "the collection is as it was before") {
		t.Fatalf("the confined writer: %v, %s", err, out)
	}
	if after := tree(t, dir); len(after) != len(before) {
		t.Fatalf("%d files before, %d after", len(before), len(after))
	}
	if _, err := Verify(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
}

// childReadOnly returns the error of adding passages to the collection in dir as a user who may only read; nil: they
// were added, which must not be. It prints "read" once reading has worked. It fails too if reading does, or if a
// collection can be built inside dir. A process of root becomes another user for good.
func childReadOnly(dir string) error {
	if os.Geteuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			return err
		}
	}
	if _, err := Verify(context.Background(), dir, nil); err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	fmt.Println("read")
	if _, err := Build(context.Background(), filepath.Join(dir, "inner", "index"), of(randomPassages(1, 3)),
		store.BuildOptions{}); err == nil {
		return errors.New("built inside a folder that cannot be written")
	}
	_, err := Add(context.Background(), dir, of(randomPassages(2, 3)), store.BuildOptions{})
	return err
}

func TestReadOnlyFolder(t *testing.T) {
	dir := built(t, store.BuildOptions{}, randomPassages(1, 30))
	for _, path := range []string{filepath.Dir(filepath.Dir(dir)), filepath.Dir(dir), dir} {
		if err := os.Chmod(path, 0o555); err != nil {
			t.Fatal(err)
		}
	}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error { // another user reads it
		if err == nil && path != dir {
			err = os.Chmod(path, 0o555)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := child(t, "readonly", dir).CombinedOutput()
	_ = os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o755) // so that the test's folder can be removed
	_ = os.Chmod(filepath.Dir(dir), 0o755)
	_ = os.Chmod(dir, 0o755)
	_ = os.Chmod(filepath.Join(dir, "seg-000001"), 0o755)
	if err == nil || !strings.HasPrefix(string(out), "read\n") ||
		!strings.Contains(string(out), "permission denied: the folder must be writable") {
		t.Fatalf("%v, %s", err, out)
	}
}
