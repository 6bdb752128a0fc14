package documents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// serveStuck stands for a reader that hangs on its first file, with another process beside it. It writes
// the numbers of both into a file.
func serveStuck(at string) {
	beside := exec.Command("/bin/sleep", "600")
	if err := beside.Start(); err != nil {
		panic(err)
	}
	os.WriteFile(at, fmt.Appendf(nil, "%d %d", os.Getpid(), beside.Process.Pid), 0o600)
	writeFrame(os.Stdout)
	select {}
}

// serveProbe confines itself, and answers with what it can still do.
func serveProbe() {
	if _, err := confine(512<<20, true); err != nil {
		panic(err)
	}
	_, file := os.ReadFile("/etc/hostname")
	_, dial := net.Dial("tcp", "127.0.0.1:9")
	_, listen := net.Listen("tcp", "127.0.0.1:0")
	run := exec.Command("/bin/true").Run()
	create := os.WriteFile(filepath.Join(os.TempDir(), "conclave-probe"), nil, 0o600)
	signal := syscall.Kill(os.Getppid(), 0)
	limit := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY})
	fmt.Fprintf(os.Stdout, "%v\n%v\n%v\n%v\n%v\n%v\n%v\n", file, dial, listen, run, create, signal, limit)
	done := make(chan int, 8) // threads still start
	for i := range 8 {
		go func() { runtime.LockOSThread(); done <- i }()
	}
	for range 8 {
		<-done
	}
	fmt.Fprintln(os.Stdout, "threads", len(bytes.Repeat([]byte("x"), 1<<20)))
}

// TestConfined: a reader cannot open files, connections or programs, and signals nobody.
func TestConfined(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("the system does not confine a reader")
	}
	out, err := exec.Command(os.Args[0], "serve-probe").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 8 || lines[7] != "threads 1048576" {
		t.Fatalf("the reader said %q", lines)
	}
	for i, what := range []string{"reading a file", "connecting", "listening", "running a program", "writing a file", "a signal", "more memory"} {
		if !strings.Contains(lines[i], "operation not permitted") {
			t.Errorf("%s: %s", what, lines[i])
		}
	}
}

// alive reports whether there is a process that has not ended.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ") // ended, and nobody asked
}

// eventually waits until something is so.
func eventually(tb testing.TB, what string, so func() bool) {
	tb.Helper()
	for range 1000 {
		if so() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	tb.Fatalf("%s: not after ten seconds", what)
}

// TestStuckReaderEnds: a reader that takes too long, and one whose caller leaves, is killed with the processes
// that it started, and the pool reads on.
func TestStuckReaderEnds(t *testing.T) {
	at := filepath.Join(t.TempDir(), "pids")
	stuck := func() *exec.Cmd { return exec.Command(os.Args[0], "serve-stuck", at) }
	p := NewPool(PoolOptions{Start: stuck, Workers: 1})
	defer p.Close()
	gone := func() {
		text, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range strings.Fields(string(text)) {
			pid, _ := strconv.Atoi(word)
			eventually(t, "the end of process "+word, func() bool { return !alive(pid) })
		}
	}
	l := limits()
	l.Time = 50 * time.Millisecond
	in := Input{Name: "a.txt", Data: []byte("text")}
	if _, _, err := NewExtractor(l, p).Read(t.Context(), in); ReasonOf(err) != TooSlow {
		t.Errorf("a reader that hangs: %v", err)
	}
	gone()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, _, err := NewExtractor(limits(), p).Read(ctx, in); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left: %v", err)
	}
	gone()
	p.options.Start = testWorker()
	if d, _, err := NewExtractor(limits(), p).Read(t.Context(), in); err != nil || d.Text != "text" {
		t.Errorf("the next file: %v, %v", d, err)
	}
}

// TestReaderWithoutMemory: a file that takes more memory than a reader may have is refused, and the next one
// is read.
func TestReaderWithoutMemory(t *testing.T) {
	small := func() *exec.Cmd {
		cmd := testWorker()()
		cmd.Args = append(cmd.Args, strconv.Itoa(24<<20))
		return cmd
	}
	p := NewPool(PoolOptions{Start: small, Workers: 1})
	defer p.Close()
	r := NewExtractor(limits(), p)
	large := deflated(map[string]string{"large.txt": strings.Repeat("0123456789abcdef", 3<<20)})
	err := r.Expand(t.Context(), "a.zip", large, func(Member) error { return nil })
	if ReasonOf(err) != TooLarge || !strings.Contains(err.Error(), "memory") {
		t.Errorf("48 MiB in 24: %v", err)
	}
	if d, _, err := r.Read(t.Context(), Input{Name: "a.txt", Data: []byte("text")}); err != nil ||
		d.Text != "text" {
		t.Errorf("the next file: %v, %v", d, err)
	}
}

// TestGroupsTakeTurns: a group with many files does not keep another one waiting for all of them.
func TestGroupsTakeTurns(t *testing.T) {
	p := NewPool(PoolOptions{Workers: 1})
	if err := p.enter(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	order := make(chan string)
	wait := func(group string) {
		before := waiting(p)
		go func() {
			if p.enter(context.Background(), group) == nil {
				order <- group
			}
		}()
		eventually(t, "another one waits", func() bool { return waiting(p) == before+1 })
	}
	for _, group := range []string{"a", "a", "a", "b", "c", "b"} {
		wait(group)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.enter(gone, "d"); !errors.Is(err, context.Canceled) {
		t.Errorf("one that left: %v", err)
	}
	var got []string
	for range 6 {
		p.leave()
		got = append(got, <-order)
	}
	p.leave()
	if want := []string{"a", "b", "c", "a", "b", "a"}; !slices.Equal(got, want) {
		t.Errorf("they read in the order %q, want %q", got, want)
	}
	if p.free != 1 || len(p.waiting) != 0 || len(p.order) != 0 {
		t.Errorf("%d places are free, and %v wait", p.free, p.waiting)
	}
}

func waiting(p *Pool) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, of := range p.waiting {
		n += len(of)
	}
	return n
}

// TestReadersLeave: a reader stays for the next file, and goes when it waits for long or has grown.
func TestReadersLeave(t *testing.T) {
	read := func(p *Pool) {
		in := Input{Name: "a.txt", Data: []byte("text")}
		if _, _, err := NewExtractor(limits(), p).Read(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	idle := func(p *Pool) (pids []int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, w := range p.idle {
			pids = append(pids, w.cmd.Process.Pid)
		}
		return pids
	}
	p := NewPool(PoolOptions{Start: testWorker(), Workers: 2})
	read(p)
	first := idle(p)
	read(p)
	if second := idle(p); len(first) != 1 || !slices.Equal(first, second) {
		t.Errorf("readers %v, then %v: not the same one", first, second)
	}
	p.Close()
	if alive(first[0]) {
		t.Error("a reader is left when its pool is closed")
	}
	in := Input{Name: "a.txt", Data: []byte("text")}
	if _, _, err := NewExtractor(limits(), p).Read(t.Context(), in); !errors.Is(err, errClosed) {
		t.Errorf("a pool that is closed: %v", err)
	}
	brief := NewPool(PoolOptions{Start: testWorker(), Idle: time.Millisecond})
	defer brief.Close()
	read(brief)
	eventually(t, "the end of an idle reader", func() bool { return len(idle(brief)) == 0 })
	grown := NewPool(PoolOptions{Start: testWorker(), Grown: -1 << 40})
	defer grown.Close()
	read(grown)
	if pids := idle(grown); len(pids) != 0 {
		t.Errorf("a reader that has grown waits for files: %v", pids)
	}
}

// TestSameByProcess: a process reads each file of testdata as this one does, but PDF, and cuts it alike.
func TestSameByProcess(t *testing.T) {
	here := NewExtractor(limits(), nil)
	there := newTestReader(t).For("", 40)
	for name, data := range made(t) {
		if strings.HasSuffix(name, ".pdf") || packed(data, name) && strings.HasSuffix(name, ".mbox") {
			continue
		}
		in := Input{Name: name, Data: data}
		want, attached, err := here.Read(t.Context(), in)
		got, also, failed := there.Read(t.Context(), in)
		if (err == nil) != (failed == nil) || ReasonOf(err) != ReasonOf(failed) {
			t.Errorf("%s: %v here, %v there", name, err, failed)
		}
		if len(attached) != len(also) || len(also) > 0 && !reflect.DeepEqual(attached, also) {
			t.Errorf("%s: %d files attached here, %d there", name, len(attached), len(also))
		}
		if err != nil {
			continue
		}
		about := About{ID: name}
		if a, b := PassagesOf(about, want, data, 40), PassagesOf(about, got, data, 40); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: other passages", name)
		}
		got.pieces, got.cutAt = nil, 0
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%s: another document\n%+v\n%+v", name, want, got)
		}
	}
}

// TestUnpackInParts: an archive with more than is unpacked at once gives each of its files once, in order.
func TestUnpackInParts(t *testing.T) {
	part := strings.Repeat("0123456789abcde\n", 25<<20/16)
	var want []string
	files := map[string]string{}
	for i := range 7 {
		name := fmt.Sprintf("%d.txt", i)
		files[name] = strconv.Itoa(i) + "\x00" + part // no text, which would come in parts
		want = append(want, "a.zip/"+name)
	}
	l := limits()
	l.FileBytes = 256 << 20
	var got []string
	err := NewExtractor(l, newTestPool(t)).Expand(t.Context(), "a.zip", deflated(files), func(m Member) error {
		got = append(got, m.Name)
		if string(m.Data) != files[strings.TrimPrefix(m.Name, "a.zip/")] {
			t.Errorf("%s has another content", m.Name)
		}
		return nil
	})
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

// FuzzWire: no message between processes makes the other one panic, or take more memory than it has bytes.
func FuzzWire(f *testing.F) {
	var b bytes.Buffer
	d, _, err := NewExtractor(
		limits(), nil,
	).Read(f.Context(), Input{Name: "a.md", Data: []byte("# A\n\n|a|b|\n|-|-|\n|1|2|\n")})
	if err != nil {
		f.Fatal(err)
	}
	if err := d.cutInto(10); err != nil {
		f.Fatal(err)
	}
	writeAnswer(&b, &answer{document: d, members: []Member{{"b", []byte("c")}}})
	f.Add(b.Bytes()[8:])
	b.Reset()
	writeRequest(&b, &request{limits: limits(), file: Input{Name: "a", Type: "b", Data: []byte("c")}})
	f.Add(b.Bytes()[8:])
	f.Fuzz(func(t *testing.T, payload []byte) {
		if a, err := decodeAnswer(payload); err == nil && a.document != nil {
			for _, block := range a.document.Blocks {
				_ = a.document.TextOf(block)
			}
			for _, p := range a.document.pieces {
				_ = p.Text(a.document)
			}
		}
		if _, err := decodeRequest(payload); err != nil && !errors.Is(err, errFrame) {
			t.Error(err)
		}
		if _, err := readFrame(bytes.NewReader(payload), 1<<20); err == nil && len(payload) < 8 {
			t.Error("a frame without a length")
		}
	})
}
