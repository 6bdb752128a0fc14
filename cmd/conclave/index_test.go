package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/search/reply"
)

// workplace changes into a temporary folder with a tiny expert named small and a configuration, and returns the path of
// a file of three passages.
func workplace(t *testing.T) (passages string) {
	t.Helper()
	library := testenv.Runtime(t)
	t.Chdir(t.TempDir())
	if _, err := tiny.Write(filepath.Join("experts", "small"), tiny.Expert{Name: "small", Seed: 1}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("conclave.yaml", []byte("cache: cache\nruntime: "+library+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	testenv.LinkPDFium(t, "cache")
	return passagesFile(t)
}

// What no index can be built with is refused as a mistake of usage before
// anything is read: the input does not even exist.
func TestImpossibleBuildsAreRefusedFirst(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		flags string
		says  []string
	}{
		{"--m 1", []string{"M is 1", "between 4 and 512"}},
		{"--m 513", []string{"M is 513", "between 4 and 512"}},
		{"--m -1", []string{"M is -1", "between 4 and 512"}},
		{"--m 32 --ef-construction 31", []string{"efConstruction is 31", "at least M, 32"}},
		{"--ef-construction -3", []string{"efConstruction is -3"}},
		{"--index coder --m 1", []string{"coder", "M is 1"}},
		{"--index flat --m 8", []string{"flat has no graph", "leave"}},
		{"--threads -1", []string{"--threads is -1"}},
		{"--threads 1025", []string{"1024"}},
		{"--share 2/4", []string{"--share is for an index of OpenSearch", "--store"}},
		{"--share 5/4 --store opensearch+http://127.0.0.1:1/x", []string{"--share", `"5/4" is no share`, "2/4"}},
		{"--experts none --index hnsw", []string{"--index has no effect with --experts none"}},
		{"--m 1x", []string{"--m", "1x"}},
	} {
		args := append([]string{"index", "--collection", "c", "--in", "missing.jsonl"}, strings.Fields(c.flags)...)
		code, _, complaints := conclave(t, args...)
		if code != cli.ExitUsage || !containsAll(complaints, c.says) {
			t.Errorf(
				"index %s: exit code %d, want %d and %q, but it says:\n%s",
				c.flags,
				code,
				cli.ExitUsage,
				c.says,
				complaints,
			)
		}
	}
	for _, c := range []struct{ flags, says string }{
		{"--add-expert x --experts y", "--experts has no effect with --add-expert"},
		{"--add-expert x --replace", "--replace"},
		{"--remove-expert x --m 8", "--m has no effect with --remove-expert"},
		{"--remove-expert x --threads 1", "--threads"},
	} {
		code, _, complaints := conclave(t, append([]string{"index", "--collection", "c"}, strings.Fields(c.flags)...)...)
		if code != cli.ExitUsage || !strings.Contains(complaints, c.says) {
			t.Errorf(
				"index %s: exit code %d, want %d and %q, but it says:\n%s",
				c.flags,
				code,
				cli.ExitUsage,
				c.says,
				complaints,
			)
		}
	}
	if _, err := os.Stat("c"); err == nil {
		t.Error("a refused build made a collection")
	}
}

// A collection's indexes stay of the kind they were built with; whoever asks
// for another hears so, and the lines that are offered do it.
func TestAnotherKindForAnExistingCollection(t *testing.T) {
	file := workplace(t)
	index := func(args ...string) (int, string, string) {
		t.Helper()
		return conclave(t, append([]string{"index", "--collection", "c"}, args...)...)
	}
	if code, _, complaints := index("--in", file, "--experts", "small"); code != cli.ExitOK {
		t.Fatal(complaints)
	}
	for flags, says := range map[string][]string{
		"--index flat":          {"--index is flat", "--index hnsw", "--remove-expert small", "--add-expert small --index flat"},
		"--m 8":                 {"--m is 8", "small"},
		"--ef-construction 300": {"--ef-construction is 300"},
		"--seed 4":              {"--seed is 4", "--seed 0"},
	} {
		code, _, complaints := index(append([]string{"--id-prefix", "x/", "--in", file}, strings.Fields(flags)...)...)
		if code != cli.ExitUsage || !containsAll(complaints, says) {
			t.Errorf("%s: exit code %d, want %d and %q, but it says:\n%s", flags, code, cli.ExitUsage, says, complaints)
		}
	}
	if code, _, complaints := index("--id-prefix", "x/", "--in", file, "--index", "hnsw"); code != cli.ExitOK {
		t.Errorf("the kind that it has: %s", complaints)
	}
	if code, out, complaints := index("--remove-expert", "small", "--json"); code != cli.ExitOK ||
		strings.TrimSpace(out) != `{"removed":"small"}` {
		t.Errorf("removing: %s%s", out, complaints)
	}
	if code, _, complaints := index("--id-prefix", "y/", "--in", file, "--m", "8"); code != cli.ExitUsage ||
		!strings.Contains(complaints, "no experts") {
		t.Errorf("a graph without vectors: exit code %d, %s", code, complaints)
	}
	if code, _, complaints := index("--add-expert", "small", "--index", "flat"); code != cli.ExitOK {
		t.Errorf("adding: %s", complaints)
	}
	if code, _, complaints := index("--id-prefix", "z/", "--in", file, "--index", "flat"); code != cli.ExitOK {
		t.Errorf("the new kind: %s", complaints)
	}
}

// Passages of which an expert does not read all are counted.
func TestLongPassagesAreTold(t *testing.T) {
	workplace(t)
	long := strings.Repeat("word ", 6000) // more than all windows of a passage have
	lines := `{"id":"1","text":"short"}` + "\n" + `{"id":"2","text":"` + long + `"}` + "\n"
	if err := os.WriteFile("p.jsonl", []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, complaints := conclave(t, "index", "--collection", "c", "--in", "p.jsonl", "--experts", "small")
	if code != cli.ExitOK || !strings.Contains(out, "not encoded: 1\n") {
		t.Errorf("exit code %d, %s%s", code, out, complaints)
	}
	code, out, complaints = conclave(t, "index", "--collection", "c", "--id-prefix", "x/", "--in", "p.jsonl", "--json")
	truncated, _ := parsed(t, out)["truncated"].(map[string]any)
	if code != cli.ExitOK || truncated["small"] != 1.0 {
		t.Errorf("exit code %d, %s%s", code, out, complaints)
	}
	// Of two experts that one pass serves, both tell.
	if _, err := tiny.Write(filepath.Join("experts", "tokens"),
		tiny.Expert{Name: "tokens", Seed: 1, Late: 8}); err != nil {
		t.Fatal(err)
	}
	code, out, complaints = conclave(t, "index", "--collection", "both", "--in", "p.jsonl", "--experts", "small,tokens")
	for _, want := range []string{"small: passages longer than it reads", "tokens: passages longer than it reads"} {
		if code != cli.ExitOK || !strings.Contains(out, want) || !strings.Contains(complaints, "encoding small and tokens") {
			t.Errorf("exit code %d, %q is wanted in %s%s", code, want, out, complaints)
		}
	}
	if code, out, complaints := conclave(t, "index", "--collection", "d", "--in", passagesFile(t), "--experts",
		"small"); code != cli.ExitOK ||
		strings.Contains(out, "longer") {
		t.Errorf("exit code %d, %s%s", code, out, complaints)
	}
}

// TestCostsAreToldFirst: adding an expert says what that takes before it encodes,
// and what was not measured is left out.
func TestCostsAreToldFirst(t *testing.T) {
	workplace(t)
	code, _, complaints := conclave(t, "index", "--collection", "c", "--in", passagesFile(t), "--experts", "none")
	if code != cli.ExitOK ||
		!containsAll(complaints, []string{"3 passages, about:\n", "--experts none (chosen)", "no time", "--experts default", "1 pass"}) ||
		strings.Contains(complaints, "measured") {
		t.Errorf("exit code %d, %s", code, complaints)
	}
	code, _, complaints = conclave(t, "index", "--collection", "c", "--add-expert", "small")
	if at := strings.Index(complaints, "3 passages, about:\n  --add-expert small  1 pass  "); code != cli.ExitOK ||
		at < 0 ||
		at > strings.Index(complaints, "encoding small") {
		t.Errorf("exit code %d, %s", code, complaints)
	}
}

// TestDeclaredFields: types that are declared when a collection is made are its own from then on: a passage that
// does not fit is refused with the value and how to write it, also one that comes later.
func TestDeclaredFields(t *testing.T) {
	t.Chdir(t.TempDir())
	file := func(name, lines string) {
		if err := os.WriteFile(name, []byte(lines), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file("good.jsonl", `{"id":"a","text":"a lamp","metadata":{"price":3,"sold":"2024-05-01"}}`+"\n")
	file("bad.jsonl", `{"id":"b","text":"a lantern","metadata":{"price":"n/a"}}`+"\n")
	says := []string{`metadata.price`, `"n/a"`, "declared as number", "12.5"}
	for _, c := range []struct {
		args string
		code int
		says []string
	}{
		{"--in good.jsonl --fields price=amount", cli.ExitUsage, []string{"--fields", `"amount"`, "keyword, number, date, bool"}},
		{"--in bad.jsonl --fields price=number", cli.ExitFailed, says},
		{"--in good.jsonl --experts none --fields price=number,sold=date", cli.ExitOK, nil},
		{"--in bad.jsonl", cli.ExitFailed, says},
		{"--add-expert base --fields price=number", cli.ExitUsage, []string{"--fields has no effect"}},
	} {
		code, _, complaints := conclave(t, append([]string{"index", "--collection", "c"}, strings.Fields(c.args)...)...)
		if code != c.code || !containsAll(complaints, c.says) {
			t.Errorf("%s: %d\n%s", c.args, code, complaints)
		}
	}
	code, _, complaints := conclave(t, "export", "--collection", "c", "--filter", `{"field":"sold","eq":"lamp"}`)
	if code != cli.ExitUsage || !containsAll(complaints, []string{"sold", "declared as date"}) {
		t.Errorf("%d %s", code, complaints)
	}
	code, out, complaints := conclave(t, "export", "--collection", "c", "--filter", `{"field":"sold","lt":"2024-06-01"}`)
	if code != cli.ExitOK || !strings.HasPrefix(out, `{"id":"a"`) {
		t.Errorf("%d %s %s", code, out, complaints)
	}
}

// TestAbsentFields: a search that finds nothing says which field of its condition no passage has, and the declared one
// that may be meant; one that no passage meets for another reason says nothing of the kind.
func TestAbsentFields(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "lamps.jsonl", `{"id":"a","text":"a lamp","metadata":{"price":3,"maker":"Ada"}}`+"\n")
	code, _, complaints := conclave(
		t, "index", "--collection", "c", "--in", "lamps.jsonl", "--experts", "none", "--fields", "price=number,sold=date")
	if code != cli.ExitOK {
		t.Fatal(complaints)
	}
	for condition, want := range map[string]string{
		`{"field":"prise","gte":3}`:                                                 `no passage has the field "prise" (did you mean "price"?)`,
		`{"not":{"field":"colour","exists":false}}`:                                 `no passage has the field "colour" (declared are price, sold)`,
		`{"and":[{"field":"maker","eq":"Ada"},{"field":"sold","gt":"2024-01-01"}]}`: `no passage has the field "sold"`,
		`{"field":"maker","eq":"Bob"}`:                                              "",
		`{"field":"price","eq":3}`:                                                  "",
	} {
		code, out, complaints := conclave(t, "search", "--collection", "c", "--json", "--filter", condition, "lamp")
		if code != cli.ExitOK {
			t.Fatal(complaints)
		}
		var r reply.Response
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(r.Notes, "\n")
		if want != "" && !strings.Contains(notes, want) || want == "" && strings.Contains(notes, "has the field") {
			t.Errorf("%s: notes %q, want %q", condition, r.Notes, want)
		}
	}
}
