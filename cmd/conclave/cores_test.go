package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/internal/provision"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/shipped"
)

// TestEveryWayUsesEveryCore: each way by which passages come into a collection has batches of passages on all cores at
// the same time, and calibration and evaluation have their questions on all of them. The encoder is the real one, whose
// batches take long enough to meet; what it counts is in the log of its end and in /metrics.
func TestEveryWayUsesEveryCore(t *testing.T) {
	library := testenv.Runtime(t)
	cache := provision.Cache{Root: filepath.Join(t.TempDir(), "cache")}
	if err := os.MkdirAll(filepath.Dir(cache.Bundle(shipped.Base)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(testenv.Base(t, "int8"), cache.Bundle(shipped.Base)); err != nil {
		t.Fatal(err)
	}
	testenv.LinkPDFium(t, cache.Root)
	t.Chdir(t.TempDir())
	write(t, "conclave.yaml", "cache: "+cache.Root+"\nruntime: "+library+"\n")
	texts := newTexts(1)
	passages, questions := texts.lines()
	write(t, "passages.jsonl", passages)
	write(t, "questions.jsonl", questions)
	write(t, "followed/book.md", texts.book())

	index := []string{"index", "--experts", "base", "--index", "flat"}
	for _, c := range []struct {
		lane string
		args []string
	}{
		{"passage", append(index, "--collection", "c", "--in", "passages.jsonl")},
		{"passage", append(index, "--collection", "synced", "--in", "followed", "--sync")},
		{"passage", []string{"index", "--collection", "words", "--in", "passages.jsonl", "--experts", "none"}},
		{"passage", []string{"index", "--collection", "words", "--add-expert", "base", "--index", "flat"}},
		{"question", []string{"evaluate", "--collection", "c", "--questions", "questions.jsonl"}},
		{"question", []string{"calibrate", "--collection", "c", "--questions", "questions.jsonl", "--dry-run"}},
	} {
		code, _, said := conclave(t, append(c.args, "--log-level", "debug")...)
		if code != cli.ExitOK {
			t.Fatalf("%v: exit code %d\n%s", c.args, code, said)
		}
		if strings.HasSuffix(strings.Join(c.args, " "), "none") {
			continue // a collection without encoders, which the next one adds to
		}
		if got := loggedCores(t, said, c.lane); got != runtime.GOMAXPROCS(0) {
			t.Errorf("%v: %ss had %d cores at once of %d", c.args, c.lane, got, runtime.GOMAXPROCS(0))
		}
	}

	for name, send := range map[string]func(url string) (*http.Request, error){
		"PUT a document": func(url string) (*http.Request, error) {
			r, err := http.NewRequest("PUT", url+"/v1/documents/book.md", strings.NewReader(newTexts(2).book()))
			r.Header.Set("Content-Type", "text/markdown")
			return r, err
		},
		"upload a file": func(url string) (*http.Request, error) {
			var body bytes.Buffer
			form := multipart.NewWriter(&body)
			part, err := form.CreateFormFile("file", "book.md")
			if err != nil {
				return nil, err
			}
			if _, err := io.WriteString(part, newTexts(3).book()); err != nil {
				return nil, err
			}
			if err := form.Close(); err != nil {
				return nil, err
			}
			r, err := http.NewRequest("POST", url+"/v1/documents", &body)
			r.Header.Set("Content-Type", form.FormDataContentType())
			return r, err
		},
		"POST passages": func(url string) (*http.Request, error) {
			passages, _ := newTexts(4).lines()
			r, err := http.NewRequest("POST", url+"/v1/passages", strings.NewReader(passages))
			r.Header.Set("Content-Type", "application/x-ndjson")
			return r, err
		},
		"watch a folder": nil,
	} {
		t.Run(name, func(t *testing.T) {
			var args []string
			if send == nil {
				args = []string{"--watch", "followed"}
			}
			s := startServer(t, args...)
			if send != nil {
				r, err := send(s.url)
				if err != nil {
					t.Fatal(err)
				}
				response, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				said, err := io.ReadAll(response.Body)
				_ = response.Body.Close()
				if err != nil || response.StatusCode >= 300 {
					t.Fatalf("%d %s %v", response.StatusCode, said, err)
				}
			}
			s.waitFor("passages are encoded", func() bool { return s.metric("passages_total") >= 64 })
			if got := s.metric("passage_cores"); got != runtime.GOMAXPROCS(0) {
				t.Errorf("passages had %d cores at once of %d", got, runtime.GOMAXPROCS(0))
			}
			s.stop()
		})
	}
}

// waitFor waits until a condition holds. It fails the test after a minute.
func (s *served) waitFor(what string, holds func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("not within a minute: %s\n%s", what, s.log.String())
		}
	}
}

// metric returns the value of a metric of the encoder "base", 0 if the server does not show it.
func (s *served) metric(name string) int {
	s.t.Helper()
	response, err := http.Get(s.url + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^conclave_encoder_` + name + `\{expert="base"\} (\d+)$`).FindSubmatch(text)
	if found == nil {
		return 0
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// loggedCores returns the most cores that runs of a lane ("passage" or "question") had at once, as the log says. The
// test fails at once if the log does not say it.
func loggedCores(t *testing.T, log, lane string) int {
	t.Helper()
	found := regexp.MustCompile(`"?` + lane + `_cores"?[=:](\d+)`).FindStringSubmatch(log)
	if found == nil {
		t.Fatalf("the log does not say how many cores a %s had:\n%s", lane, log)
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// texts are passages of made-up words.
type texts []string

// newTexts returns 64 texts of 120 words each. They are the same for the same seed.
func newTexts(seed uint64) texts {
	draws := rand.New(rand.NewPCG(seed, 2))
	vocabulary := strings.Fields("river stone harbour winter letter engine garden paper window market signal copper " +
		"bridge forest doctor ticket silver island summer record valley teacher machine village kitchen journey")
	out := make(texts, 64)
	for i := range out {
		var b strings.Builder
		fmt.Fprintf(&b, "Record %d.", i)
		for range 120 {
			b.WriteByte(' ')
			b.WriteString(vocabulary[draws.IntN(len(vocabulary))])
		}
		b.WriteByte('.')
		out[i] = b.String()
	}
	return out
}

// lines returns the texts as passages in JSON Lines, and a question about each.
func (x texts) lines() (passages, questions string) {
	var p, q strings.Builder
	for i, text := range x {
		id := strconv.Itoa(i)
		line, _ := json.Marshal(map[string]any{"id": id, "text": text}) // strings can always be written
		p.Write(append(line, '\n'))
		asked := strings.Join(strings.Fields(text)[:12], " ")
		line, _ = json.Marshal(map[string]any{"id": "q" + id, "question": asked, "positive_ids": []string{id}})
		q.Write(append(line, '\n'))
	}
	return p.String(), q.String()
}

// book returns the texts as the sections of one document in Markdown.
func (x texts) book() string {
	var b strings.Builder
	for i, text := range x {
		fmt.Fprintf(&b, "# Section %d\n\n%s\n\n", i, text)
	}
	return b.String()
}
