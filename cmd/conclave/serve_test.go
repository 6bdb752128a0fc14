package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	client "example.org/conclave/client/go"
	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/search/reply"
)

// served is `conclave serve`, running in this process.
type served struct {
	t   *testing.T
	url string
	log *testenv.Buffer
	end func() int // stops it, and gives the exit code
}

// startServer serves the collection "c" of the present folder on a free port and returns when it is ready. The server
// ends with the test at the latest.
func startServer(t *testing.T, args ...string) *served {
	t.Helper()
	address := freeAddress(t)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	s := &served{t: t, url: "http://" + address, log: &testenv.Buffer{}}
	go func() {
		ended <- run(ctx, append([]string{"serve", "--collection", "c", "--listen", address}, args...), cli.Terminal{In: strings.NewReader(""), Out: s.log, Err: s.log})
	}()
	s.end = sync.OnceValue(func() int { stop(); return <-ended })
	t.Cleanup(func() { _ = s.end() })
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if code, _, _ := conclave(t, "healthcheck", "--url", s.url); code == cli.ExitOK {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server did not become ready:\n%s", s.log.String())
		}
	}
}

// stop ends the server and fails the test unless it ends without an error.
func (s *served) stop() {
	s.t.Helper()
	if code := s.end(); code != cli.ExitOK {
		s.t.Errorf("the server ended with %d:\n%s", code, s.log.String())
	}
}

// first returns the server's answer to a question, with one passage.
func (s *served) first(question string) reply.Response {
	s.t.Helper()
	code, out, complaints := conclave(s.t, "search", "--url", s.url, "--json", "-k", "1", question)
	var r reply.Response
	if err := json.Unmarshal([]byte(out), &r); code != cli.ExitOK || err != nil {
		s.t.Fatalf("%q: exit code %d, %v\n%s%s", question, code, err, out, complaints)
	}
	return r
}

// tinyCollection makes the collection "c" of three passages and the named tiny
// experts in a folder of its own, which becomes the present one.
func tinyCollection(t *testing.T, bundles []string, experts string) {
	t.Helper()
	library := testenv.Runtime(t)
	t.Chdir(t.TempDir())
	for i, name := range bundles {
		if _, err := tiny.Write(filepath.Join("experts", name), tiny.Expert{Name: name, Seed: uint64(i + 1)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("conclave.yaml", []byte("cache: cache\nruntime: "+library+"\ningest: {flush_after: 10ms}\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	testenv.LinkPDFium(t, "cache")
	if code, _, complaints := conclave(t, "index", "--collection", "c", "--in", passagesFile(t), "--experts",
		experts); code != cli.ExitOK {
		t.Fatalf("index: %s", complaints)
	}
}

// TestServe: a tiny expert through ONNX Runtime, served, asked over HTTP, and stopped.
func TestServe(t *testing.T) {
	tinyCollection(t, []string{"small"}, "small")
	s := startServer(t)
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"--fusion", "rrf,hybrid"}, cli.ExitOK, []string{"Lamps", "hybrid"}},
		{nil, cli.ExitOK, []string{"Lamps"}},
		{[]string{"--fusion", "magic"}, cli.ExitFailed, []string{"magic"}},
	} {
		code, out, complaints := conclave(
			t,
			append(append([]string{"search", "--url", s.url}, c.args...), "who hid the lamp")...)
		if code != c.code || !containsAll(out+complaints, c.says) {
			t.Errorf("search %v: exit code %d, %s%s", c.args, code, out, complaints)
		}
	}
	s.stop()
}

// TestSecondWriter: one process writes to a collection; others are told so, and what to
// do.
func TestSecondWriter(t *testing.T) {
	tinyCollection(t, nil, "none")
	s := startServer(t)
	if code, _, complaints := conclave(t, "serve", "--collection", "c", "--listen",
		freeAddress(t)); code != cli.ExitFailed ||
		!containsAll(complaints, []string{"another process writes", "--read-only"}) {
		t.Errorf("a second server: exit code %d, %s", code, complaints)
	}
	if code, _, complaints := conclave(t, "index", "--collection", "c", "--id-prefix", "x/", "--in",
		passagesFile(t)); code != cli.ExitFailed ||
		!strings.Contains(complaints, "another process writes") {
		t.Errorf("index beside the server: exit code %d, %s", code, complaints)
	}
	startServer(t, "--read-only").stop()
	s.stop()
	// A folder that cannot be written to is read alone.
	if err := os.Chmod("c", 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod("c", 0o755) })
	if err := os.Chmod(filepath.Join("c", "LOCK"), 0o444); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 { // who may do everything
		if code, _, complaints := conclave(t, "serve", "--collection", "c", "--listen",
			freeAddress(t)); code != cli.ExitFailed ||
			!strings.Contains(complaints, "--read-only") {
			t.Errorf("a folder for reading: exit code %d, %s", code, complaints)
		}
	}
	startServer(t, "--read-only").stop()
}

// TestSnapshotOfServer asks a server for a snapshot, which holds what was just written,
// and searches it.
func TestSnapshotOfServer(t *testing.T) {
	tinyCollection(t, nil, "none")
	s := startServer(t, "--config", "conclave.yaml")
	c := client.Client{Address: s.url}
	if _, err := c.Put(t.Context(), client.Passage{ID: "new", Text: "A zebra."}, client.Write{}); err != nil {
		t.Fatal(err)
	}
	code, out, complaints := conclave(t, "snapshot", "--url", s.url, "--out", "monday")
	if code != cli.ExitOK || !strings.Contains(out, "4 passages") {
		t.Fatalf("exit code %d, %s%s", code, out, complaints)
	}
	if _, err := c.Delete(t.Context(), "new", client.Write{Visible: true}); err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{"monday": "already", "../monday": "name", ".hidden": "name"} {
		if code, _, complaints := conclave(t, "snapshot", "--url", s.url, "--out", name); code != cli.ExitFailed ||
			!strings.Contains(complaints, says) {
			t.Errorf("%s: exit code %d, %s", name, code, complaints)
		}
	}
	if code, _, complaints := conclave(t, "snapshot", "--url", s.url, "--collection", "c", "--out",
		"x"); code != cli.ExitUsage {
		t.Errorf("both: exit code %d, %s", code, complaints)
	}
	s.stop()
	// It is a collection of its own.
	snapshot := filepath.Join("c-snapshots", "monday")
	restored := startServer(t, "--collection", snapshot)
	c = client.Client{Address: restored.url}
	if _, err := c.Put(t.Context(), client.Passage{ID: "more", Text: "Another zebra."},
		client.Write{Visible: true}); err != nil {
		t.Fatal(err)
	}
	restored.stop()
	for folder, says := range map[string]string{"c": "3 passages", snapshot: "5 passages"} {
		if code, out, complaints := conclave(t, "verify", "--collection", folder); code != cli.ExitOK ||
			!strings.Contains(out, says) {
			t.Errorf("verify %s: %s%s", folder, out, complaints)
		}
	}
}
