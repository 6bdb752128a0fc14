package endtoend

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/search/reply"
)

// The command is built once for all tests of this process.
var buildBinary, removeBinary = func() (func() (string, error), func()) {
	dir := ""
	build := sync.OnceValues(func() (path string, err error) {
		dir, err = os.MkdirTemp("", "conclave-endtoend-")
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, "conclave")
		if out, err := exec.Command("go", "build", "-o", path,
			"example.org/conclave/cmd/conclave").CombinedOutput(); err != nil {
			return "", fmt.Errorf("building the command: %w\n%s", err, out)
		}
		return path, nil
	})
	return build, func() {
		if dir != "" {
			_ = os.RemoveAll(dir)
		}
	}
}()

// binary returns the path of the command. A test that needs it is left out under -short,
// with which `make test` looks for races: the command is a process of its own, which
// the race detector does not see.
func binary(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("the race detector does not see the command")
	}
	path, err := buildBinary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// site is a folder with a collection "c", tiny bundles and a configuration.
type site struct {
	t      testing.TB
	dir    string
	path   string // of the command
	client *http.Client
}

// newSite makes a site; configuration is put behind the path of the runtime. Where it
// names no cache, that has PDFium's compiled form alone: the shipped reader takes longer to load than all else.
func newSite(t testing.TB, configuration string, bundles []string, experts string, lines string) *site {
	t.Helper()
	runtime := testenv.Runtime(t)
	path := binary(t)
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	s := &site{t: t, dir: t.TempDir(), path: path, client: &http.Client{Transport: transport}}
	t.Cleanup(transport.CloseIdleConnections)
	for i, name := range bundles {
		if _, err := tiny.Write(filepath.Join(s.dir, "experts", name), tiny.Expert{Name: name, Seed: uint64(i + 1), Late: map[string]int{"interaction": 16}[name]}); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(configuration, "cache: ") {
		configuration += "cache: cache\n"
		testenv.LinkPDFium(t, filepath.Join(s.dir, "cache"))
	}
	for name, text := range map[string]string{"conclave.yaml": "runtime: " + runtime + "\n" + configuration, "passages.jsonl": lines} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.command("index", "--collection", "c", "--in", "passages.jsonl", "--experts", experts)
	return s
}

// environment returns this process's, without what would configure the command.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "CONCLAVE_") })
}

// command runs a command to its end.
func (s *site) command(args ...string) string {
	s.t.Helper()
	cmd := exec.Command(s.path, args...)
	cmd.Env = environment()
	cmd.Dir = s.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("conclave %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// process is a `conclave serve` of its own.
type process struct {
	*site
	url  string
	cmd  *exec.Cmd
	log  *testenv.Buffer
	done chan error

	key    string // that requests have; "": none
	expert string // that demands name
}

// serve starts a server and waits until it is ready. before is a shell's
// command line to run first.
func (s *site) serve(before string, args ...string) *process {
	s.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	line := []string{"-c", before + ` exec "$0" "$@"`, s.path, "serve", "--listen", address}
	if !slices.Contains(args, "--data") {
		line = append(line, "--collection", "c")
	}
	line = append(line, args...)
	p := &process{
		site: s,
		url:  "http://" + address,
		cmd:  exec.Command("/bin/sh", line...),
		log:  &testenv.Buffer{},
		done: make(chan error, 1),

		expert: "small",
	}
	p.cmd.Env = environment()
	p.cmd.Dir = s.dir
	p.cmd.Stdout = p.log
	p.cmd.Stderr = p.log
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	s.t.Cleanup(p.kill)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if status, _, err := p.send(http.MethodGet, "/readyz", ""); err == nil && status == http.StatusOK {
			return p
		}
		select {
		case err := <-p.done:
			p.done <- err
			s.t.Fatalf("the server ended: %v\n%s", err, p.log.String())
		default:
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the server did not become ready:\n%s", p.log.String())
		}
	}
}

// kill ends the process with SIGKILL and waits for it.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	err := <-p.done
	p.done <- err
}

// killed reports whether the process was ended by a signal, and not by itself.
func (p *process) killed() bool {
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// stop ends the process in order.
func (p *process) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		p.t.Fatal(err)
	}
	if err := <-p.done; err != nil {
		p.t.Fatalf("the server ended with %v\n%s", err, p.log.String())
	}
	p.done <- nil
}

// send sends a request. The error is that of a server that is not there.
func (p *process) send(method, path, body string) (status int, answer []byte, err error) {
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	request, err := http.NewRequest(method, p.url+path, in)
	if err != nil {
		return 0, nil, err
	}
	if p.key != "" {
		request.Header.Set("X-API-Key", p.key)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
		if address, _, _ := strings.Cut(path, "?"); strings.HasSuffix(address, "/passages") {
			request.Header.Set("Content-Type", "application/x-ndjson")
		}
	}
	response, err := p.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// get sends a request that has to succeed.
func (p *process) get(method, path, body string, want int, out any) {
	p.t.Helper()
	status, answer, err := p.send(method, path, body)
	if err != nil || status != want {
		p.t.Fatalf("%s %s: %d, want %d, %v: %.500s\n%s", method, path, status, want, err, answer, p.log.String())
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(answer, out); err != nil {
		p.t.Fatalf("%s %s: %v in %.500s", method, path, err, answer)
	}
}

// visible waits until searches see everything that was acknowledged.
func (p *process) visible() {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		var health struct {
			Backlog *struct{ Changes int }
		}
		p.get(http.MethodGet, "/readyz", "", http.StatusOK, &health)
		if health.Backlog == nil {
			p.t.Fatal("ready, and not for writes")
		}
		if health.Backlog.Changes == 0 {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%d changes do not become visible\n%s", health.Backlog.Changes, p.log.String())
		}
	}
}

// search asks words, or an expert exactly, and returns the ids found with their
// texts.
func (p *process) search(question, expert string) map[string]string {
	p.t.Helper()
	request := map[string]any{
		"question":   question,
		"k":          1000,
		"candidates": 1000,
		"fusion":     "rrf",
		"exact":      true,
		"experts":    []string{},
		"timeout_ms": 10000,
	}
	if expert != "" {
		request["experts"] = []string{expert}
		request["bm25"] = false
	}
	body, err := json.Marshal(request)
	if err != nil {
		p.t.Fatal(err)
	}
	var response reply.Response
	p.get(http.MethodPost, "/v1/search", string(body), http.StatusOK, &response)
	if len(response.Degraded) > 0 {
		p.t.Fatalf("left out: %+v\n%s", response.Degraded, p.log.String())
	}
	found := map[string]string{}
	for _, r := range response.Results {
		found[r.ID] = r.Text
	}
	return found
}

var errStopped = errors.New("the server is gone")
