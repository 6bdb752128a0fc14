package web_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/provision"
	"example.org/conclave/internal/testing/realclients"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/shipped"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// TestAnswersInBrowser: the page shows what the shipped reader marks and what a generator
// writes, as testdata/answers.mjs says. The passages have letters of two bytes and more.
func TestAnswersInBrowser(t *testing.T) {
	pinned(t)
	node, _ := realclients.Node(t)
	ask := func(name, passages string, change func(*configs.Config), env ...string) {
		t.Run(name, func(t *testing.T) {
			if name == shipped.Reader {
				made(t, name)
			}
			server := realclients.Server(t, realclients.ServerOptions{Passages: passages, Change: change})
			t.Log(
				realclients.Run(
					t,
					realclients.Command{
						Interpreter: node,
						Args:        []string{filepath.Join("testdata", "answers.mjs")},
						Env:         append(env, "SERVER="+server),
					},
				),
			)
		})
	}
	ask(
		"reader",
		`{"id":"mill","title":"The mill","text":"Zürich – “naïve” 🦊 notes. The mill of Lund was built by Søren Ågård in 1742. It burned down twice."}
{"id":"rice","title":"Rice","text":"Cooked rice keeps for a day in the fridge. Raw rice keeps for years."}
{"id":"foxes","title":"Foxes","text":"A fox asked the moon to come down from the sky. It did not."}
{"id":"fares","title":"Fares of the ferry","text":"Ticket | Adults | Children\nSingle | 4.60 | 2.30\nReturn | 8.00 | 4.00\n\nDogs go free."}
`,
		func(c *configs.Config) {
			c.Cache = "" // where the reader is
			granularity(t, c, "base@1")
		},
		"QUESTION=who built the mill of Lund?",
	)
	passages, question := golden(t)
	ask("generator", passages, func(c *configs.Config) {
		c.Readers = []string{"writer"}
		c.Search.Timeout, c.Limits.Timeout = time.Minute, time.Minute
		writer(t, filepath.Join(c.Bundles, "writer"))
	}, "QUESTION="+question, "GENERATES=yes")
}

// made skips a test where setup has not made a shipped bundle.
func made(t *testing.T, name string) {
	t.Helper()
	cache, err := provision.CacheAt("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shipped.Folder(configs.Config{}, cache, name); err != nil {
		t.Skip(err)
	}
}

// granularity adds an expert of a granularity to the collection, as conclave index does.
func granularity(t *testing.T, c *configs.Config, name string) {
	t.Helper()
	c.Experts = append(c.Experts, configs.Expert{Name: name})
	loaded, err := experts.Open(*c, slog.New(slog.DiscardHandler), []string{name})
	if err != nil {
		t.Fatal(err)
	}
	_, err = folder.AddExpert(t.Context(), c.Collection, loaded.All()[0], store.BuildOptions{})
	if err := errors.Join(err, loaded.Close()); err != nil {
		t.Fatal(err)
	}
}

// golden returns passages and a question in the words of the small T5 of encoder/testdata.
func golden(t *testing.T) (passages, question string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testenv.Root(t), "encoder", "testdata", "fid", "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Checkpoints map[string][]struct {
			Question string
			Passages [][2]string
		}
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	c := all.Checkpoints["gated"][1]
	for i, p := range c.Passages {
		line, err := json.Marshal(map[string]string{"id": fmt.Sprint("p", i), "title": p[0], "text": p[1]})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	return lines.String(), c.Question
}

// writer imports that T5 as a generator.
func writer(t *testing.T, bundle string) {
	t.Helper()
	from := filepath.Join(testenv.Root(t), "encoder", "testdata", "fid")
	checkpoint := t.TempDir()
	if err := os.CopyFS(checkpoint, os.DirFS(filepath.Join(from, "gated"))); err != nil {
		t.Fatal(err)
	}
	zipped, err := os.Open(filepath.Join(from, "tokenizer.first.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = zipped.Close() }()
	var data []byte
	z, err := gzip.NewReader(zipped)
	if err == nil {
		data, err = io.ReadAll(z)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(checkpoint, "tokenizer.json"), data, 0o644)
	}
	if err == nil {
		_, err = convert.Import(
			t.Context(), checkpoint, bundle, convert.Options{MaxTokens: models.MaxTokens{Passage: 48}},
		)
	}
	if err != nil {
		t.Fatal(err)
	}
}
