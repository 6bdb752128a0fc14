package realclients

import (
	"bytes"
	"cmp"
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/server"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/shipped/demo"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"

	"go.opentelemetry.io/otel/trace"
)

// ServerOptions say what is served. The zero value is three passages, served by a base
// encoder and late interaction that are tiny and mean nothing, in well under a second.
type ServerOptions struct {
	// Real takes the base encoder, late interaction and the reader that are shipped.
	Real bool
	// Passages are JSON Lines; "": three passages about rice, a lamp and a fox.
	Passages string
	// Change changes the configuration, of which the collection, the experts and
	// where it listens are set.
	Change func(*configs.Config)
	Tracer trace.Tracer // of what the server does; nil: none
	// Log gets the server's log; nil: it is shown where the test fails.
	Log *testenv.Buffer
}

const threePassages = `{"id":"rice","title":"Rice","text":"Cooked rice keeps for a day in the fridge.","tags":["kitchen"]}
{"id":"lamps/1","title":"Lamps","text":"The keeper of the lighthouse hid the lamp under his coat.","tags":["tales"],"metadata":{"page":7}}
{"id":"foxes","title":"Foxes","text":"A fox asked the moon to come down from the sky.","tags":["tales"]}
`

// Enough returns JSON Lines of 23 passages, the usual three and twenty of the demo's policies: enough for a search to
// have a confidence.
func Enough(tb testing.TB) (passages string) {
	return threePassages + strings.Join(strings.SplitAfter(Demo(tb, "policy"), "\n")[:20], "")
}

// Demo returns the passages of the demo's domains as JSON Lines; of all domains if none is named.
func Demo(tb testing.TB, domains ...string) (passages string) {
	tb.Helper()
	if len(domains) == 0 {
		domains = demo.Domains()
	}
	var all bytes.Buffer
	for _, domain := range domains {
		data, err := fs.ReadFile(demo.FS, "passages/"+domain+".jsonl")
		if err != nil {
			tb.Fatal(err)
		}
		all.Write(data)
	}
	return all.String()
}

// DemoDocuments returns the passages of the demo's documents as JSON Lines.
func DemoDocuments(tb testing.TB) (passages string) {
	tb.Helper()
	return ReadDocuments(tb, "shipped/demo/documents")
}

// ReadDocuments returns the passages of the documents in a folder as JSON Lines, by running conclave read on it. A
// relative path is one below the root of the source. The test fails if nothing can be read.
func ReadDocuments(tb testing.TB, folder string) (passages string) {
	tb.Helper()
	read := exec.CommandContext(tb.Context(), "go", "run", "./cmd/conclave", "read", "--json", folder)
	read.Dir = testenv.Root(tb)
	out, err := read.Output()
	if err != nil {
		tb.Fatalf("reading the documents of %s: %v", folder, err)
	}
	return string(out)
}

// Server makes a collection as o says and serves it until the test ends. It returns the server's address, as in
// http://127.0.0.1:40123. The server accepts writes. A process may have one such server at a time, since it can load
// ONNX Runtime only once.
func Server(tb testing.TB, o ServerOptions) (url string) {
	tb.Helper()
	config := configuration(tb, o)
	if o.Passages == "" {
		o.Passages = threePassages
	}
	buildCollection(tb, config, o.Passages)
	if o.Change != nil {
		o.Change(&config)
	}
	log := cmp.Or(o.Log, &testenv.Buffer{})
	s, err := server.Open(
		context.Background(),
		server.ServerOptions{Config: config, Log: slog.New(slog.NewTextHandler(log, nil)), Version: "test", Tracer: o.Tracer},
	)
	if err != nil {
		tb.Fatalf("%v\n%s", err, log.String())
	}
	tb.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		if err := s.Close(); err != nil {
			tb.Errorf("the server ended with %v", err)
		}
		if tb.Failed() {
			tb.Logf("the server's log:\n%s", log.String())
		}
	})
	return "http://" + s.Addr().String()
}

// Marker returns a change of a configuration, for ServerOptions.Change, that writes a tiny reader called marker and
// uses it.
func Marker(tb testing.TB) func(*configs.Config) {
	return func(c *configs.Config) {
		if _, err := tiny.Write(filepath.Join(c.Bundles, "marker"),
			tiny.Expert{Name: "marker", Seed: 3, Reader: true}); err != nil {
			tb.Fatal(err)
		}
		c.Readers = []string{"marker"}
	}
}

// Judge returns a change of a configuration, for ServerOptions.Change, that writes a tiny reranker called judge and
// uses it.
func Judge(tb testing.TB) func(*configs.Config) {
	return func(c *configs.Config) {
		if _, err := tiny.Write(filepath.Join(c.Bundles, "judge"),
			tiny.Expert{Name: "judge", Seed: 5, Reranker: true}); err != nil {
			tb.Fatal(err)
		}
		c.Rerankers = []configs.Reranker{{Name: "judge"}}
	}
}

// configuration returns the configuration of a server for a new collection with two experts, base and late: the
// shipped ones if o.Real is set, otherwise tiny ones, which it writes. It does not make the collection.
func configuration(tb testing.TB, o ServerOptions) configs.Config {
	tb.Helper()
	dir := tb.TempDir()
	config := configs.Defaults()
	config.Collection, config.Bundles = filepath.Join(dir, "c"), filepath.Join(dir, "experts")
	config.Runtime = testenv.Runtime(tb)
	config.Listen = "127.0.0.1:0"
	config.Ingest.FlushAfter = 10 * time.Millisecond
	config.Limits.Timeout = 30 * time.Second
	config.Search.Timeout = 20 * time.Second // encoders share the machine with other tests, and races are looked for
	if o.Real {
		base := testenv.Base(tb, "fp32")
		config.Experts = []configs.Expert{
			{Name: "base", Bundle: base},
			{Name: "late", Bundle: filepath.Join(filepath.Dir(base), "late")},
		}
		return config
	}
	config.Cache = filepath.Join(dir, "cache") // without the shipped reader
	for _, bundle := range []tiny.Expert{{Name: "base", Seed: 1}, {Name: "late", Seed: 1, Late: 16}} {
		dir := filepath.Join(config.Bundles, bundle.Name)
		if _, err := tiny.Write(dir, bundle); err != nil {
			tb.Fatal(err)
		}
		config.Experts = append(config.Experts, configs.Expert{Name: bundle.Name, Bundle: dir})
	}
	return config
}

// buildCollection makes the collection at config.Collection from passages, which are JSON Lines, as conclave index
// does.
func buildCollection(tb testing.TB, config configs.Config, passages string) {
	tb.Helper()
	loaded, err := experts.Open(config, slog.New(slog.DiscardHandler), []string{"base", "late"})
	if err != nil {
		tb.Fatal(err)
	}
	defer func() {
		if err := loaded.Close(); err != nil {
			tb.Error(err)
		}
	}()
	options := store.BuildOptions{Shared: experts.SharedPasses(loaded.All()), Words: store.UnicodeWords()}
	for _, e := range loaded.All() {
		options.Experts = append(options.Experts, e)
	}
	source, err := corpus.OpenSeries([]corpus.Input{{Path: "-", Stdin: strings.NewReader(passages)}})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := folder.Build(tb.Context(), config.Collection, source, options); err != nil {
		tb.Fatal(err)
	}
	if err := source.Close(); err != nil {
		tb.Fatal(err)
	}
}
