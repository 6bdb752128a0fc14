package folder

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
)

// faultErrors are what each operation fails with in turn.
var faultErrors = []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EMFILE, syscall.EROFS}

// states are what the passages of each id may be, as acknowledged: texts, ""
// for none. Of what is not known to be done or not, both.
type states map[string][]string

// set takes over changes; in doubt they may also not have been made.
func (s states) set(changes []store.Change, inDoubt bool) {
	for _, c := range changes {
		text := ""
		if c.Put != nil {
			text = c.Put.Text
		}
		if inDoubt {
			s[c.ID()] = append(slices.Clone(s.of(c.ID())), text)
		} else {
			s[c.ID()] = []string{text}
		}
	}
}

func (s states) of(id string) []string {
	if have := s[id]; have != nil {
		return have
	}
	return []string{""}
}

// compare returns an error when passages are not what was acknowledged.
func (s states) compare(got map[string]corpus.Passage) error {
	for id, may := range s {
		if text := got[id].Text; !slices.Contains(may, text) {
			return fmt.Errorf("%s is %q, acknowledged was one of %q", id, text, may)
		}
	}
	for id, p := range got {
		if !slices.Contains(s.of(id), p.Text) {
			return fmt.Errorf("%s is there with %q, acknowledged was one of %q", id, p.Text, s.of(id))
		}
	}
	return nil
}

// faultRun is one run of a script on a disk of which operations fail.
type faultRun struct {
	t        *testing.T
	name     string
	disk     *faultyDisk
	memory   *forgetfulDisk
	folder   string // the disk's
	dir      string // the collection's, in it
	options  LiveOptions
	live     *Live
	failures chan struct{}
	states   states
	images   *sync.Map // that were looked at, of all runs
	lasting  bool      // what fails goes on failing
}

// newFaultRun begins with a copy of the collection that faultTemplate built.
func newFaultRun(t *testing.T, name, template string, images *sync.Map) *faultRun {
	r := &faultRun{
		t:        t,
		name:     name,
		memory:   newForgetfulDisk(t, 1<<30),
		states:   states{},
		failures: make(chan struct{}, 1),
		images:   images,
	}
	r.disk = &faultyDisk{Disk: r.memory}
	r.folder = memoryDir(t)
	r.dir = filepath.Join(r.folder, "index")
	r.options = LiveOptions{
		Build:      crashOptions().Build,
		FlushAfter: time.Hour,
		Merge:      MergePolicy{Off: true},
		retry:      time.Millisecond,
	}
	r.options.Failed = func(error) {
		select {
		case r.failures <- struct{}{}:
		default:
		}
	}
	if err := os.CopyFS(r.dir, os.DirFS(template)); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(r.folder, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			return r.memory.SyncDir(path)
		}
		return errors.Join(err, r.memory.SyncFile(path))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range randomPassages(1, 12) {
		r.states.set([]store.Change{put(p)}, false)
	}
	return r
}

func (r *faultRun) fatalf(format string, args ...any) {
	r.t.Helper()
	_, failed := r.disk.count()
	r.t.Fatalf("%s: %s\nfailed: %q", r.name, fmt.Sprintf(format, args...), failed)
}

// start opens the collection, if it is not open.
func (r *faultRun) start() error {
	if r.live != nil {
		return nil
	}
	l, err := openLive(r.disk, r.dir, r.encoders(r.dir))
	if err == nil {
		r.live = l
	}
	return err
}

// encoders returns the options with the encoders of a collection's experts.
func (r *faultRun) encoders(dir string) LiveOptions {
	o := r.options
	o.Build.Experts = nil
	m, err := readManifest(disk.OS{}, dir)
	if err != nil {
		r.fatalf("%v", err)
	}
	for _, x := range m.Experts {
		o.Build.Experts = append(
			o.Build.Experts, &hashEncoder{name: x.Name, dimension: x.Dimension, parted: x.Parts, owner: x.Owner},
		)
	}
	return o
}

func (r *faultRun) close() {
	if r.live != nil {
		_ = r.live.Close()
		r.live = nil
	}
}

// flush waits until all is visible or a flush fails, and says whether.
func (r *faultRun) flush() error {
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel()
	done := make(chan struct{})
	defer func() { cancel(); <-done }()
	select { // an older failure
	case <-r.failures:
	default:
	}
	go func() {
		defer close(done)
		select {
		case <-r.failures:
			cancel()
		case <-ctx.Done():
		}
	}()
	return r.live.Flush(ctx)
}

// faultStep is a step of a script.
type faultStep struct {
	do   func() error
	told bool // when it fails, Backlog says so
}

// script returns everything that a writer does.
func (r *faultRun) script() []faultStep {
	apply := func(changes ...store.Change) faultStep {
		return faultStep{told: true, do: func() error {
			_, err := r.live.Apply(r.t.Context(), changes)
			r.states.set(changes, err != nil)
			return err
		}}
	}
	flush := faultStep{do: r.flush, told: true}
	another := &hashEncoder{name: "b", dimension: 4, parted: true}
	remove := func(expert string) faultStep {
		return faultStep{do: func() error {
			if r.live.writer.snapshot().Expert(expert) == nil {
				return nil
			}
			return r.live.RemoveExpert(r.t.Context(), expert)
		}}
	}
	return []faultStep{
		apply(put(numbered("a", 1)), put(numbered("b", 2)), store.Change{Delete: "p1"}),
		apply(put(numbered("p2", 3)), store.Change{Delete: "a"}),
		flush,
		apply(put(numbered("c", 4))),
		flush,
		apply(store.Change{Delete: "b"}, put(numbered("p1", 5))),
		{do: func() error { return r.live.merge(r.t.Context(), segmentNames(r.live.writer)) }},
		apply(put(numbered("d", 6)), store.Change{Delete: "p3"}),
		{do: func() error {
			_, err := r.live.AddExpert(r.t.Context(), another, store.BuildOptions{Index: store.Index{Kind: "hnsw"}})
			return err
		}},
		flush,
		{do: func() error {
			if r.live.writer.snapshot().Expert("b") == nil {
				return nil
			}
			_, err := r.live.AddExpert(r.t.Context(), &hashEncoder{name: "c", dimension: 4, owner: "b"}, store.BuildOptions{})
			return err
		}},
		{do: func() error { return r.live.merge(r.t.Context(), segmentNames(r.live.writer)) }},
		remove("c"),
		remove("b"),
		apply(put(numbered("d", 7))),
		{do: func() error { // offline
			r.close()
			w, err := openWriter(r.disk, r.dir)
			if err != nil {
				return err
			}
			defer func() { _ = w.Close() }()
			_, err = w.rebuildWords(r.t.Context(), phrased(), store.BuildOptions{WordMemory: 1})
			return err
		}},
		apply(put(numbered("e", 8))),
		flush,
	}
}

// run runs the script. It looks at what a kill or a power cut leaves where the
// first step fails, and when all steps were tried.
func (r *faultRun) run() {
	looked := false
	for i, step := range r.script() {
		err := r.start()
		if err == nil {
			err = step.do()
		}
		if err == nil {
			continue
		}
		if r.lasting && r.live != nil && step.told && r.live.Backlog().Trouble == nil {
			r.fatalf("step %d failed and no trouble is told: %v", i, err)
		}
		if !looked {
			looked = true
			r.lookKilled(fmt.Sprintf("killed in step %d (%v)", i, err))
		}
		if r.live == nil {
			err = r.start()
			if err != nil { // the fault lasts: what opens later is another run's
				return
			}
		}
	}
	if r.live != nil {
		r.lookKilled("killed at the end")
	}
}

// lookKilled compares what a kill and power cuts leave with what was
// acknowledged.
func (r *faultRun) lookKilled(when string) {
	// What the flusher does meanwhile, and the committer with a log that failed, must not
	// change the images.
	if r.live != nil {
		r.live.structure.Lock()
		defer r.live.structure.Unlock()
		r.live.logUse.Lock()
		defer r.live.logUse.Unlock()
	}
	for name, left := range map[string]string{"forgotten": r.memory.Forgotten(r.folder), "emptied": r.memory.emptied(r.folder), "hasty": r.memory.hasty(r.folder), "kept": r.memory.kept(r.folder)} {
		dir := filepath.Join(left, "index")
		key := fmt.Sprint(r.states, image(r.t, dir))
		if _, looked := r.images.LoadOrStore(key, true); looked {
			continue
		}
		r.lookAt(when+", "+name, dir)
		_ = os.RemoveAll(left)
	}
}

// lookAt opens a collection on a disk that is well: Verify passes, it has what
// was acknowledged, and it can be written.
func (r *faultRun) lookAt(when, dir string) {
	r.t.Helper()
	if _, err := Verify(r.t.Context(), dir, nil); err != nil {
		r.fatalf("%s: %v", when, err)
	}
	l, err := openLive(disk.OS{}, dir, r.encoders(dir))
	if err != nil {
		r.fatalf("%s: opening: %v", when, err)
	}
	defer func() { _ = l.Close() }()
	apply(r.t, l, put(numbered("again", 1)))
	if err := l.Flush(r.t.Context()); err != nil {
		r.fatalf("%s: %v", when, err)
	}
	s := maps.Clone(r.states)
	s.set([]store.Change{put(numbered("again", 1))}, false)
	g := l.Collection().Acquire()
	defer g.Release()
	if err := s.compare(contents(r.t, g)); err != nil {
		r.fatalf("%s: %v", when, err)
	}
	if _, err := Verify(r.t.Context(), dir, nil); err != nil {
		r.fatalf("%s, after going on: %v", when, err)
	}
}

func faultTemplate(t *testing.T) string {
	dir := filepath.Join(memoryDir(t), "index")
	if _, err := Build(t.Context(), dir, of(randomPassages(1, 12)), crashOptions().Build); err != nil {
		t.Fatal(err)
	}
	return dir
}

// heal ends the faults: writing works again, without a restart, no trouble is
// told any more, and nothing that was acknowledged is lost.
func (r *faultRun) heal() {
	r.disk.inject(nil)
	if err := r.start(); err != nil {
		r.fatalf("opening when the fault has gone: %v", err)
	}
	changes := []store.Change{put(numbered("healed", 1))}
	_, err := r.live.Apply(r.t.Context(), changes)
	if err != nil {
		r.fatalf("writing when the fault has gone: %v", err)
	}
	r.states.set(changes, false)
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	if err := r.live.Flush(ctx); err != nil {
		r.fatalf("flushing when the fault has gone: %v, %v", err, r.live.Backlog().Trouble)
	}
	if err := r.live.merge(ctx, segmentNames(r.live.writer)); err != nil {
		r.fatalf("merging when the fault has gone: %v", err)
	}
	r.live.note(&r.live.mergeTrouble, nil)
	if err := r.live.Backlog().Trouble; err != nil {
		r.fatalf("trouble is told when the fault has gone: %v", err)
	}
	g := r.live.Collection().Acquire()
	defer g.Release()
	if err := r.states.compare(contents(r.t, g)); err != nil {
		r.fatalf("when the fault has gone: %v", err)
	}
	r.close()
	r.lookAt("in the end", r.dir)
}

// TestFaults lets every single operation of a scripted run on the disk fail,
// once and from then on, with each error. With CONCLAVE_TEST_FAULTS=all all of
// them, with a number that many, else a few.
func TestFaults(t *testing.T) {
	t.Parallel()
	seed := seedOf(t)
	images := new(sync.Map)
	template := faultTemplate(t)
	whole := newFaultRun(t, "without faults", template, images)
	whole.disk.inject(nil)
	whole.run()
	operations, _ := whole.disk.count()

	whole.heal()

	type fault struct {
		at      int
		errno   syscall.Errno
		forever bool
	}
	var faults []fault
	for at := 1; at <= operations; at++ {
		for _, errno := range faultErrors {
			faults = append(faults, fault{at, errno, false}, fault{at, errno, true})
		}
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	rng.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	if wanted := os.Getenv("CONCLAVE_TEST_FAULTS"); wanted != "all" {
		n, err := strconv.Atoi(wanted)
		if err != nil {
			n = 60
		}
		faults = faults[:min(n, len(faults))]
	}
	t.Run("runs", func(t *testing.T) {
		for _, f := range faults {
			name := fmt.Sprintf("operation %d, %v, from then on: %v", f.at, f.errno, f.forever)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := newFaultRun(t, name, template, images)
				r.lasting = f.forever
				r.disk.inject(onOperation(f.at, f.errno, f.forever))
				r.run()
				r.heal()
			})
		}
	})
	disks := 0
	images.Range(func(_, _ any) bool { disks++; return true })
	t.Logf(
		"%d operations, %d errors: %d runs (seed %d), %d different disks after a kill",
		operations,
		len(faultErrors),
		len(faults),
		seed,
		disks,
	)
	if operations < 200 {
		t.Errorf("only %d operations went through the disk", operations)
	}
}
