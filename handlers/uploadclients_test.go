package handlers

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/conclave/store/folder"
)

// The clients that people have, which send everything before they read.

// program returns the path of a program, or skips the test.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

// bulkBody returns a body of n lines, one in twenty of them good. Body and answer
// are each larger than what a connection keeps on its way, which is up to 10 MB
// on loopback: a server that sent while its client sends would wait for ever.
// Bad lines are cheap to make so many of.
func bulkBody(n int) []byte {
	var body bytes.Buffer
	pad := strings.Repeat(" ", 380)
	for i := range n {
		if i%20 == 0 {
			fmt.Fprintf(&body, "{\"id\":\"p%d\",\"text\":\"zebra number %d\"}\n", i, i)
		} else {
			body.WriteString(pad + "{\"id\":\n")
		}
	}
	return body.Bytes()
}

func bulkFile(t *testing.T, n int) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "passages.jsonl")
	if err := os.WriteFile(path, bulkBody(n), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkBulk compares an answer with what bulkBody has.
func checkBulk(t *testing.T, s *writingServer, answer []byte, n int) {
	t.Helper()
	lines, last := parseAnswer(t, answer)
	if len(lines) != n || last != nil {
		t.Fatalf("%d lines, then %+v", len(lines), last)
	}
	for i, l := range lines {
		want := "rejected"
		if i%20 == 0 {
			want = "created"
		}
		if l.Line != i+1 || l.Status != want {
			t.Fatalf("line %d: %+v", i+1, l)
		}
	}
	if b := s.live.Backlog(); b.Changes != n/20 {
		t.Errorf("backlog %d", b.Changes)
	}
}

const bulkLines = 40_000

func startBulk(t *testing.T) *writingServer {
	t.Helper()
	if testing.Short() {
		t.Skip("half a minute with the race detector; smaller uploads take the same path")
	}
	return startWriting(t, writingOptions{
		live: folder.LiveOptions{FlushAfter: time.Hour, FlushPassages: 1 << 20},
		// Shorter than an upload takes: what goes on is not cut off.
		timeouts: []ServeOptions{
			{ReadTimeout: 2 * time.Second, WriteTimeout: 3 * time.Second, DrainTimeout: 5 * time.Second},
		},
	})
}

func TestCurl(t *testing.T) {
	curl := program(t, "curl")
	file := bulkFile(t, bulkLines)
	for name, arguments := range map[string][]string{
		"with its length": {"--data-binary", "@" + file},
		"as a stream":     {"-T", "-"},
		"over HTTP/2":     {"--http2-prior-knowledge", "--data-binary", "@" + file},
		"answer at once":  {"-N", "-T", "-"},
		"slowly":          {"--limit-rate", "3M", "--data-binary", "@" + file},
	} {
		t.Run(name, func(t *testing.T) {
			s := startBulk(t)
			url := "http://" + s.address + "/v1/passages"
			if name == "answer at once" {
				url += "?stream=true"
			}
			cmd := exec.CommandContext(
				t.Context(),
				curl,
				append(
					[]string{
						"-sS",
						"--fail-with-body",
						"--max-time",
						"120",
						"-X",
						"POST",
						"-H",
						"Content-Type: application/x-ndjson",
						url,
					},
					arguments...)...)
			if strings.Contains(strings.Join(arguments, " "), "-T -") {
				in, err := os.Open(file)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = in.Close() }()
				cmd.Stdin = in
			}
			var complaints bytes.Buffer
			cmd.Stderr = &complaints
			answer, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s\n%.500s", err, complaints.Bytes(), answer)
			}
			checkBulk(t, s, answer, bulkLines)
		})
	}
}

func TestPythonHTTPClient(t *testing.T) {
	python := program(t, "python3")
	file := bulkFile(t, bulkLines)
	const script = `
import http.client, sys
address, path, chunked = sys.argv[1], sys.argv[2], sys.argv[3] == "chunked"
connection = http.client.HTTPConnection(address, timeout=120)
with open(path, "rb") as body:
    connection.request("POST", "/v1/passages", body=(iter(body) if chunked else body.read()), headers={"Content-Type": "application/x-ndjson"}, encode_chunked=chunked)
answer = connection.getresponse()
assert answer.status == 200, answer.read()
sys.stdout.buffer.write(answer.read())
connection.request("GET", "/v1/passages/p0")  # the connection is still good
answer = connection.getresponse()
assert answer.status == 200 and b"zebra number 0" in answer.read()
`
	for _, how := range []string{"whole", "chunked"} {
		t.Run(how, func(t *testing.T) {
			s := startBulk(t)
			cmd := exec.CommandContext(t.Context(), python, "-c", script, s.address, file, how)
			var complaints bytes.Buffer
			cmd.Stderr = &complaints
			answer, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s\n%.500s", err, complaints.Bytes(), answer)
			}
			checkBulk(t, s, answer, bulkLines)
		})
	}
}
