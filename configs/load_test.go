package configs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// load goes to a new folder, writes text as conclave.yaml there and loads it.
func load(t *testing.T, text string, environ []string, args ...string) (Config, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	if text != "" {
		if err := os.WriteFile(defaultFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.String("config", "", "")
	flags.Bool("json", false, "")
	var paths []string
	for _, k := range defaultKeys() {
		if !k.isObjectList() {
			paths = append(paths, k.path)
		}
	}
	AddFlags(flags, paths...)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return Load(flags, environ)
}

// defaultKeys returns the keys of a configuration of its own.
func defaultKeys() []key {
	c := Defaults()
	return rootKey(&c).allLeaves()
}

func TestNothingGivesTheDefaults(t *testing.T) {
	got, err := load(t, "", []string{"PATH=/bin", "CONCLAVEX=1"})
	if err != nil {
		t.Fatal(err)
	}
	if want := Defaults(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestPrecedence(t *testing.T) {
	const text = "limits: {k: &k 500, batch: 32}\nlog: {level: warn}\nsearch: {timeout: 3s, candidates: *k}\nserver: {allowed_hosts: [a.example]}"
	environ := []string{
		"CONCLAVE_LIMITS_K=600",
		"CONCLAVE_SERVER_ALLOWED_HOSTS=b.example, c.example",
		"CONCLAVE_LOG_LEVEL=error",
	}
	got, err := load(
		t,
		text,
		environ,
		"--log-level=debug",
		"--search-k=7",
		"--server-cors-origins=https://x.example,https://y.example",
		"--json",
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"default", got.Limits.Candidates, 1000},
		{"file over default", got.Limits.Batch, 32},
		{"alias in the file", got.Search.Candidates, 500},
		{"duration from the file", got.Search.Timeout, 3 * time.Second},
		{"environment over file", got.Limits.K, 600},
		{"list from the environment", got.Server.AllowedHosts, []string{"b.example", "c.example"}},
		{"flag over environment", got.Log.Level, "debug"},
		{"flag over default", got.Search.K, 7},
		{"list from a flag", got.Server.CORSOrigins, []string{"https://x.example", "https://y.example"}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, c.got, c.want)
		}
	}
}

// TestEveryKeyFromEverySource sets every key from the environment, from a flag
// and from the file, to its own default, and to something else where that is
// possible for any type.
func TestEveryKeyFromEverySource(t *testing.T) {
	for _, k := range defaultKeys() {
		var other, yaml string
		switch {
		case k.isObjectList():
			continue // TestListsOfObjects
		case k.isList():
			other = map[string]string{"server.cors_origins": "https://a.example", "server.trusted_proxies": "10.0.0.0/8",
				"documents.networks": "10.0.0.0/8"}[k.path]
			if other == "" {
				other = "a.example"
			}
			yaml = "[" + other + "]"
		default:
			other = map[string]string{
				"listen": "127.0.0.1:1", "encoder.provider": "auto",
				"encoder.precision": "fp32", "encoder.device": "2", "index.kind": "flat", "index.analysis": "lucene", "search.fusion": "rrf",
				"search.missing": "min", "search.rerank": "true", "log.level": "warn", "log.format": "json", "index.floors.hnsw": "0.5", "index.floors.flat": "0.5",
				"index.floors.coder": "0.5", "search.alpha": "0.5", "rate.requests": "3", "server.write_timeout": "100s",
				"writing.unsupported": "drop", "writing.passages": "9", "documents.site.connections": "2", "documents.site.attempts": "2", "documents.site.rate": "0.5",
			}[k.path]
			switch {
			case other != "":
			case k.value.Type().Kind() == reflect.Bool:
				other = "true"
			case k.value.Type() == reflect.TypeFor[ByteSize]():
				other = "9KiB"
			case k.value.Type() == reflect.TypeFor[time.Duration]():
				other = "1700ms"
			case k.value.Type().Kind() == reflect.Int:
				other = "999"
				if k.path == "search.k" || k.path == "search.candidates" || k.path == "limits.tags" {
					other = "99"
				}
			default:
				other = "/elsewhere"
			}
			yaml = other
		}
		if k.path == "docs.open" || k.path == "documents.keep" || k.path == "search.correct" {
			other, yaml = "false", "false"
		}
		if k.path == "limits.timeout" {
			other, yaml = "9s", "9s"
		}
		if k.path == "collections.default" {
			other, yaml = "elsewhere", "elsewhere"
		}
		path := strings.Split(k.path, ".")
		text := ""
		for i, name := range path {
			text += strings.Repeat("  ", i) + name + ":"
			if i < len(path)-1 {
				text += "\n"
			}
		}
		text += " " + yaml + "\n"
		if k.path == "limits.body_bytes" {
			// The other limits would be above it.
			text += "  question_bytes: 4KiB\n  embed_bytes: 4KiB\n"
		}
		environ := []string{k.variableName() + "=" + other}
		args := []string{"--" + k.flagName() + "=" + other}
		if k.path == "limits.body_bytes" {
			environ = append(environ, "CONCLAVE_LIMITS_QUESTION_BYTES=4KiB", "CONCLAVE_LIMITS_EMBED_BYTES=4KiB")
			args = append(args, "--limits-question-bytes=4KiB", "--limits-embed-bytes=4KiB")
		}
		fromFile, err1 := load(t, text, nil)
		fromEnvironment, err2 := load(t, "", environ)
		fromFlag, err3 := load(t, "", nil, args...)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Errorf("%s: %v\n%s", k.path, err, text)
			continue
		}
		fromFile.File = ""
		if !reflect.DeepEqual(fromFile, fromEnvironment) || !reflect.DeepEqual(fromFile, fromFlag) {
			t.Errorf("%s:\nfile        %+v\nenvironment %+v\nflag        %+v", k.path, fromFile, fromEnvironment, fromFlag)
		}
		if reflect.DeepEqual(fromFile, Defaults()) {
			t.Errorf("%s: setting it changed nothing", k.path)
		}
	}
}

func TestNamesAreDistinct(t *testing.T) {
	flags, variables := map[string]string{}, map[string]string{}
	for _, k := range defaultKeys() {
		if other, twice := flags[k.flagName()]; twice {
			t.Errorf("%s and %s are both --%s", k.path, other, k.flagName())
		}
		if other, twice := variables[k.variableName()]; twice {
			t.Errorf("%s and %s are both %s", k.path, other, k.variableName())
		}
		flags[k.flagName()], variables[k.variableName()] = k.path, k.path
	}
}

func TestListsOfObjects(t *testing.T) {
	want := []Expert{{Name: "Wiki.v2", Bundle: "/b/wiki"}, {Name: "health", Provider: "cuda", Threads: 2}}
	fromFile, err := load(
		t,
		"experts:\n  - {name: Wiki.v2, bundle: /b/wiki}\n  - name: health\n    provider: cuda\n    threads: 2\n",
		nil,
	)
	if err != nil || !reflect.DeepEqual(fromFile.Experts, want) {
		t.Errorf("file: %+v, %v", fromFile.Experts, err)
	}
	fromEnvironment, err := load(
		t,
		"experts: [{name: other}]",
		[]string{"CONCLAVE_EXPERTS=[{name: Wiki.v2, bundle: /b/wiki}, {name: health, provider: cuda, threads: 2}]"},
	)
	if err != nil || !reflect.DeepEqual(fromEnvironment.Experts, want) {
		t.Errorf("environment: %+v, %v", fromEnvironment.Experts, err)
	}
	sum := strings.Repeat("0f", 32)
	keyed, err := load(
		t,
		"auth: {keys: [{name: app, sha256: "+sum+", scopes: [search, embed], expires: 2027-06-30}]}",
		nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	moment := time.Date(2027, 6, 30, 23, 59, 59, 0, time.UTC)
	if k := keyed.Auth.Keys[0]; k.Name != "app" || k.SHA256 != sum ||
		!reflect.DeepEqual(k.Scopes, []string{"search", "embed"}) ||
		!k.Expires.Equal(moment) {
		t.Errorf("key: %+v", k)
	}
}

func TestRelativePathsCountFromTheFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "other.yaml")
	if err := os.WriteFile(file, []byte("collection: data/index\nruntime: /lib/x.so\nexperts: [{name: a, bundle: b}, {name: c}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Load(nil, []string{"CONCLAVE_CONFIG=" + file, "CONCLAVE_CACHE=here"})
	if err != nil {
		t.Fatal(err)
	}
	if got.Collection != filepath.Join(dir, "data/index") || got.Runtime != "/lib/x.so" || got.Cache != "here" ||
		got.Experts[0].Bundle != filepath.Join(dir, "b") || got.Experts[1].Bundle != "" || got.Bundles != "experts" ||
		got.File != file {
		t.Errorf("%+v", got)
	}
}

func TestWhichFileIsRead(t *testing.T) {
	dir := t.TempDir()
	for name, level := range map[string]string{"a.yaml": "warn", "b.yaml": "error"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("log: {level: "+level+"}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	environ := []string{"CONCLAVE_CONFIG=" + filepath.Join(dir, "a.yaml")}
	if c, err := Load(nil, environ); err != nil || c.Log.Level != "warn" {
		t.Errorf("from the environment: %q, %v", c.Log.Level, err)
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.String("config", "", "")
	if err := flags.Parse([]string{"--config", filepath.Join(dir, "b.yaml")}); err != nil {
		t.Fatal(err)
	}
	if c, err := Load(flags, environ); err != nil || c.Log.Level != "error" {
		t.Errorf("from the flag: %q, %v", c.Log.Level, err)
	}
	if _, err := Load(nil, []string{"CONCLAVE_CONFIG=" + filepath.Join(dir, "missing.yaml")}); !errors.Is(
		err,
		os.ErrNotExist,
	) {
		t.Errorf("a named file that is missing: %v", err)
	}
}

// TestSampleFile keeps conclave.yaml true: it holds every key, at its default,
// and what it shows in comments (lines that begin with #:) is right as well.
func TestSampleFile(t *testing.T) {
	text, err := os.ReadFile("conclave.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := load(t, string(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	got.File = ""
	if want := Defaults(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	r := resolver{places: map[string]string{}}
	if err := r.readFile("conclave.yaml", text); err != nil {
		t.Fatal(err)
	}
	for _, k := range defaultKeys() {
		if _, ok := r.places[k.path]; !ok {
			t.Errorf("conclave.yaml does not have %s", k.path)
		}
	}
	shown := regexp.MustCompile(`(?m)^#: `).ReplaceAllString(string(text), "")
	shown = strings.NewReplacer("experts: []\n", "", "generators: []\n", "", "rerankers: []  ", "x",
		"auth:\n  disabled: false ", "x", "  keys: []  ", "x", "  converters: []  ", "x").Replace(shown)
	lines := regexp.MustCompile(`(?m)^x.*\n`).ReplaceAllString(shown, "")
	example, err := load(t, lines, nil)
	if err != nil {
		t.Fatalf("with the examples: %v", err)
	}
	if len(example.Experts) != 3 || len(example.Generators) != 1 || len(example.Auth.Keys) != 1 ||
		example.Experts[1].Threads != 2 || len(example.Rerankers) != 2 || example.Rerankers[0].Name != "judge" {
		t.Errorf("with the examples: %+v %+v", example.Experts, example.Auth)
	}
}

func TestPrintedConfigReadsBack(t *testing.T) {
	want, err := load(t, `
listen: "[::1]:9000"
experts: [{name: a, bundle: /b, provider: cuda, threads: 3}]
limits: {body_bytes: 3000000, timeout: 45s}
search: {alpha: 1.3}
auth: {keys: [{name: k, sha256: `+strings.Repeat("ab", 32)+`, scopes: [admin], expires: "2030-01-02T03:04:05+02:00"}]}
server: {cors_origins: ["*"], trusted_proxies: [10.0.0.0/8, "fd00::/8"]}
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := want.YAML()
	if err != nil {
		t.Fatal(err)
	}
	got, err := load(t, string(text), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	got.File, want.File = "", ""
	for i := range got.Auth.Keys { // the same moment, whatever its zone is called
		if !got.Auth.Keys[i].Expires.Equal(want.Auth.Keys[i].Expires) {
			t.Errorf("expiry %v became %v", want.Auth.Keys[i].Expires, got.Auth.Keys[i].Expires)
		}
		got.Auth.Keys[i].Expires = want.Auth.Keys[i].Expires
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v\n%s", got, want, text)
	}
}

func TestEnvironmentWarnings(t *testing.T) {
	got, err := load(
		t,
		"",
		[]string{
			"CONCLAVE_LOG_LEVL=warn",
			"CONCLAVE_SERVICE_HOST=10.0.0.1",
			"CONCLAVE_PORT=tcp://10.0.0.1:80",
			"CONCLAVE_PORT_80_TCP=x",
			"CONCLAVE_QQQQQQQQQQ=1",
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"environment CONCLAVE_LOG_LEVL: no such variable. Did you mean \"CONCLAVE_LOG_LEVEL\"?",
		"environment CONCLAVE_QQQQQQQQQQ: no such variable.",
	}
	if !reflect.DeepEqual(got.Warnings, want) {
		t.Errorf("got %q, want %q", got.Warnings, want)
	}
}

// A second document would be ignored by most readers of YAML; here it is an
// error that says where it begins. Empty ones are none.
func TestSecondDocument(t *testing.T) {
	for text, line := range map[string]int{
		"listen: 127.0.0.1:1\n---\nlisten: 127.0.0.1:2\n": 3,
		"---\n---\nlisten: 127.0.0.1:2\n":                 3,
		"# nothing\n---\n# nothing\n---\nlog:\n  x: 1\n":  5,
		"---\nlisten: 127.0.0.1:1\n...\n---\n- a\n":       5,
		"---\nlisten: 127.0.0.1:1\n---\n":                 0,
		"---\nlisten: 127.0.0.1:1\n...\n":                 0,
		"listen: 127.0.0.1:1\n---\n# nothing\n":           0,
	} {
		path := filepath.Join(t.TempDir(), "conclave.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(nil, []string{"CONCLAVE_CONFIG=" + path})
		if line == 0 {
			if err != nil || c.Listen != "127.0.0.1:1" {
				t.Errorf("%q: %v, listen %s", text, err, c.Listen)
			}
			continue
		}
		if want := fmt.Sprintf("%s:%d", path, line); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "second YAML document") {
			t.Errorf("%q: %v, want an error at %s", text, err, want)
		}
	}
	if _, err := Load(nil, []string{"CONCLAVE_EXPERTS=[{name: a}]\n---\n[{name: b}]"}); err == nil {
		t.Error("a variable of two documents is taken")
	}
}
