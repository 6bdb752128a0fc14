package server

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a folder with tiny bundles and a collection of three passages, and the
// configuration to serve it with.
type site struct {
	t      *testing.T
	dir    string
	config configs.Config
	watch  []string
}

const threePassages = `{"id":"1","title":"Rice","text":"Cooked rice keeps for a day in the fridge."}
{"id":"2","title":"Lamps","text":"The keeper of the lighthouse hid the lamp under his coat."}
{"id":"3","title":"Foxes","text":"A fox asked the moon to come down from the sky."}
`

// newSite writes tiny bundles, and builds a collection of three passages with vectors of the experts in names.
func newSite(t *testing.T, bundles []tiny.Expert, names ...string) *site {
	t.Helper()
	config := configs.Defaults()
	s := &site{t: t, dir: t.TempDir(), config: config}
	s.config.Collection, s.config.Bundles = filepath.Join(s.dir, "c"), filepath.Join(s.dir, "experts")
	s.config.Cache = filepath.Join(s.dir, "cache") // without the shipped reader
	s.config.Runtime = testenv.Runtime(t)
	s.config.Listen = "127.0.0.1:0"
	s.config.Ingest.FlushAfter = 10 * time.Millisecond
	for i, o := range bundles {
		if o.Seed == 0 {
			o.Seed = uint64(i + 1)
		}
		if _, err := tiny.Write(filepath.Join(s.config.Bundles, o.Name), o); err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := experts.Open(s.config, slog.New(slog.DiscardHandler), names)
	if err != nil {
		t.Fatal(err)
	}
	options := store.BuildOptions{Shared: experts.SharedPasses(loaded.All())}
	for _, e := range loaded.All() {
		options.Experts = append(options.Experts, e)
	}
	source, err := corpus.OpenSeries([]corpus.Input{{Path: "-", Stdin: strings.NewReader(threePassages)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Build(t.Context(), s.config.Collection, source, options); err != nil {
		t.Fatal(err)
	}
	if err := loaded.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

// named returns descriptions of tiny bundles with these names and nothing else set.
func named(names ...string) (out []tiny.Expert) {
	for _, name := range names {
		out = append(out, tiny.Expert{Name: name})
	}
	return out
}

// write writes a file at a path below the site's folder, and makes the folders above it.
func (s *site) write(path, text string) {
	s.t.Helper()
	path = filepath.Join(s.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// flip changes a bit of the one file that a pattern names; mend changes it back.
func (s *site) flip(pattern string, at func(size int) int) (name string, mend func()) {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, pattern))
	if err != nil || len(files) != 1 {
		s.t.Fatal(files, err)
	}
	change := func() {
		content, err := os.ReadFile(files[0])
		if err != nil {
			s.t.Fatal(err)
		}
		content[at(len(content))] ^= 1
		if err := os.WriteFile(files[0], content, 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	change()
	return filepath.Base(files[0]), change
}

// verify checks every file of the collection, and that it has this many passages.
func (s *site) verify(passages int) {
	s.t.Helper()
	if r, err := folder.Verify(s.t.Context(), s.config.Collection, nil); err != nil || r.Passages != passages {
		s.t.Errorf("verify: %d passages, want %d, %v", r.Passages, passages, err)
	}
}

// served is a server of a site.
type served struct {
	*Server
	t   *testing.T
	url string
	log *testenv.Buffer
	end func() // stops it, and fails the test when that fails
}

// serve starts a server of the site, as open does. The test fails at once if it does not start.
func (s *site) serve() *served {
	s.t.Helper()
	out, err := s.open()
	if err != nil {
		s.t.Fatalf("%v\n%s", err, out.log.String())
	}
	return out
}

// open starts a server of the site. If it starts, it ends with the test at the latest; out.log is set in any case.
func (s *site) open() (*served, error) {
	out := &served{t: s.t, log: &testenv.Buffer{}}
	var err error
	out.Server, err = Open(
		context.Background(),
		ServerOptions{
			Config: s.config, Log: slog.New(slog.NewTextHandler(out.log, nil)), Version: "test", Watch: s.watch,
		},
	)
	if err != nil {
		return out, err
	}
	out.url = "http://" + out.Addr().String()
	out.end = sync.OnceFunc(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		if err := out.Close(); err != nil {
			s.t.Errorf("the server ended with %v\n%s", err, out.log.String())
		}
	})
	s.t.Cleanup(out.end)
	return out, nil
}

// call sends a request and reads the answer into out, when it is not nil.
func (s *served) call(method, path, body string, want int, out any) http.Header {
	s.t.Helper()
	request, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body == "" {
		request.Body, request.ContentLength = nil, 0
	} else {
		request.Header.Set("Content-Type", "application/json")
		if path == "/v1/passages" || strings.HasPrefix(path, "/v1/passages?") {
			request.Header.Set("Content-Type", "application/x-ndjson")
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != want {
		s.t.Fatalf("%s %s: %d, want %d: %s %v\n%s", method, path, response.StatusCode, want, answer, err, s.log.String())
	}
	if out != nil {
		if err := json.Unmarshal(answer, out); err != nil {
			s.t.Fatalf("%s %s: %v in %s", method, path, err, answer)
		}
	}
	return response.Header
}

// find searches with the given experts, or with BM25 if there are none, and returns the ids found, best first. The test
// fails if a source was left out.
func (s *served) find(question string, experts ...string) (ids []string) {
	s.t.Helper()
	request := map[string]any{
		"question":   question,
		"k":          20,
		"fusion":     "rrf",
		"bm25":       len(experts) == 0,
		"experts":    append([]string{}, experts...),
		"timeout_ms": 10000,
	}
	body, err := json.Marshal(request)
	if err != nil {
		s.t.Fatal(err)
	}
	var response reply.Response
	s.call(http.MethodPost, "/v1/search", string(body), http.StatusOK, &response)
	if len(response.Degraded) > 0 {
		s.t.Errorf("%q by %v: left out: %+v", question, experts, response.Degraded)
	}
	for _, r := range response.Results {
		ids = append(ids, r.ID)
	}
	return ids
}

// job waits until the job at a header's Location has ended.
func (s *served) job(header http.Header) (j jobs.Job) {
	s.t.Helper()
	for !j.State.Ended() {
		s.call(http.MethodGet, header.Get("Location"), "", http.StatusOK, &j)
		time.Sleep(5 * time.Millisecond)
	}
	return j
}

// done waits for the job at a header's Location and returns it. The test fails at once unless it is done.
func (s *served) done(header http.Header) jobs.Job {
	s.t.Helper()
	j := s.job(header)
	if j.State != jobs.Done {
		s.t.Fatalf("%+v\n%s", j, s.log.String())
	}
	return j
}

// warnings returns what /readyz says of a component.
func (s *served) warnings(component string) string {
	s.t.Helper()
	var health struct {
		Components []struct {
			Name     string
			Warnings []string
		}
	}
	s.call(http.MethodGet, "/readyz", "", http.StatusOK, &health)
	for _, c := range health.Components {
		if c.Name == component {
			return strings.Join(c.Warnings, "\n")
		}
	}
	return ""
}

// experts returns the names of the experts in GET /v1/experts.
func (s *served) experts() (names []string) {
	s.t.Helper()
	var infos struct{ Experts []learned.ExpertInfo }
	s.call(http.MethodGet, "/v1/experts", "", http.StatusOK, &infos)
	for _, x := range infos.Experts {
		names = append(names, x.Name)
	}
	return names
}

// until waits until is returns true. The test fails at once with the text what after 30 seconds.
func (s *served) until(what string, is func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("%s:\n%s", what, s.log.String())
		}
	}
}

// same reports whether got has the ids in want, in any order.
func same(got []string, want ...string) bool {
	return slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want)))
}

// containsAll reports whether a text has every part.
func containsAll(text string, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}
