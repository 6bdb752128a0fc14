// Package archtest holds the shape of the project as a test: which package may
// import which, where cgo may be, which libraries belong to one place, and who names flags.
package archtest

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// allowed lists, for each package, the packages of the project that it may
// import. docs/ARCHITECTURE.md draws the same arrows. A package that is not
// listed may not exist; its subpackages share its line.
var allowed = map[string][]string{
	"adapters":    {"handlers", "search"},
	"admission":   {},
	"rank":        {},
	"spelling":    {"disk", "normalise"},
	"disk":        {},
	"granules":    {"rank"},
	"plaintext":   {},
	"corpus":      {"disk", "plaintext", "rank"},
	"ann":         {"disk", "rank"},
	"bm25":        {"disk", "normalise", "rank"},
	"fusion":      {"rank"},
	"models":      {"disk"},
	"normalise":   {},
	"encoder":     {"disk", "models", "normalise"},
	"collection":  {"ann", "bm25", "corpus", "disk", "rank", "spelling"},
	"search":      {"corpus", "fusion", "granules", "rank", "spelling"},
	"calibration": {"disk", "fusion", "questions", "rank", "search"},
	"questions":   {"disk", "plaintext", "rank"},
	"evaluation":  {"calibration", "corpus", "disk", "fusion", "questions", "rank", "search"},
	"ablation":    {"calibration", "evaluation", "fusion"},
	"handlers":    {"admission", "collection", "corpus", "jobs", "plaintext", "search", "web"},
	"lease":       {},
	"opensearch":  {"ann", "bm25", "collection", "corpus", "lease", "rank", "search", "spelling"},
	"jobs":        {"collection", "corpus", "disk", "lease", "rank"},
	"serving":     {"adapters", "admission", "ann", "calibration", "collection", "configs", "corpus", "disk", "encoder", "experts", "fusion", "granules", "handlers", "jobs", "models", "opensearch", "provision", "questions", "rank", "search", "spelling"},
	"docs":        {},
	"documents":   {"corpus", "granules"},
	"web":         {"docs"},
	"client":      {"corpus", "search"},
	"tracing":     {},
	"configs":     {},
	"provision":   {"disk"},
	"demo":        {"collection", "configs", "disk", "experts", "models", "provision"},
	"experts":     {"configs", "models", "provision"},
	"bench":       {"ann", "bm25", "corpus", "disk", "encoder", "fusion", "models", "provision", "questions", "rank", "search", "serving"},
	"cmd":         {"*"},
	"internal":    {"*"}, // test support and end-to-end tests

	// Not in Go, with tests in Go:
	"clients":      {},
	"deploy":       {},
	"integrations": {},
	"examples":     {},
}

// apart are packages whose parts a command does not put together itself: that is for
// collection, search and serving.
var apart = []string{"conclave/ann", "conclave/bm25", "conclave/fusion"}

// only says which package alone may import a library.
var only = map[string]string{
	"github.com/yalue/onnxruntime_go": "encoder",
	"github.com/sugarme/tokenizer":    "encoder",
	"github.com/coder/hnsw":           "ann",
	"github.com/spf13/viper":          "configs",
	"github.com/go-chi/chi/v5":        "handlers",
	"C":                               "encoder",

	"github.com/modelcontextprotocol/go-sdk": "adapters",
	"github.com/klippa-app/go-pdfium":        "documents",
	"github.com/xuri/excelize/v2":            "documents",
	"github.com/jhillyerd/enmime/v2":         "documents",
	"codeberg.org/readeck/go-readability/v2": "documents",
}

type listed struct {
	ImportPath string
	Dir        string
	Standard   bool
	Imports    []string
	GoFiles    []string
	CgoFiles   []string
}

func TestImports(t *testing.T) {
	for _, p := range list(t) {
		from, ok := place(p.ImportPath)
		if !ok {
			continue
		}
		may, known := allowed[from]
		if !known {
			t.Errorf("package %s is in no place that the architecture knows: name it in docs/ARCHITECTURE.md and here", p.ImportPath)
			continue
		}
		for _, path := range p.Imports {
			if to, ours := place(path); ours && to != from && !slices.Contains(may, to) && !slices.Contains(may, "*") {
				t.Errorf("%s imports %s: the architecture has no arrow from %s to %s (it has %v)", p.ImportPath, path, from, to, may)
			}
			if from == "cmd" && slices.Contains(apart, path) {
				t.Errorf("%s imports %s: commands are flags, wiring and printing", p.ImportPath, path)
			}
			for library, owner := range only {
				if (path == library || strings.HasPrefix(path, library+"/")) && from != owner {
					t.Errorf("%s imports %s, which belongs to %s alone", p.ImportPath, path, owner)
				}
			}
		}
	}
}

// TestNoCgoOutsideEncoder: what must build without a C compiler has no cgo files, and
// needs no package with such files but Go's own, which has others in their place.
func TestNoCgoOutsideEncoder(t *testing.T) {
	var pure []string
	for _, p := range list(t) {
		from, ok := place(p.ImportPath)
		if !ok || from == "encoder" || from == "serving" || from == "cmd" || from == "internal" || from == "bench" || strings.HasPrefix(p.ImportPath, "conclave/models/numerics") {
			continue
		}
		if len(p.CgoFiles) > 0 {
			t.Errorf("%s has cgo files %v", p.ImportPath, p.CgoFiles)
		}
		if len(p.GoFiles) > 0 { // else it has tests alone
			pure = append(pure, p.ImportPath)
		}
	}
	for _, p := range list(t, append([]string{"-deps"}, pure...)...) {
		if !p.Standard && len(p.CgoFiles) > 0 {
			t.Errorf("%s has cgo files %v", p.ImportPath, p.CgoFiles)
		}
	}
}

// TestRulesAreUsed keeps the table honest: a line for a package that is gone
// is a line nobody reads.
func TestRulesAreUsed(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range list(t) {
		if from, ok := place(p.ImportPath); ok {
			seen[from] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(allowed)) {
		if !seen[name] {
			t.Errorf("the table of imports names %s, which does not exist", name)
		}
	}
}

// TestFlagsAreNamedByCmd: what packages below cmd say reaches HTTP clients and other
// programs, for whom the flags of a command mean nothing. provision runs other programs, and
// says how to install them.
func TestFlagsAreNamedByCmd(t *testing.T) {
	flag := regexp.MustCompile(`[\s(]--[a-z]{2}`)
	for _, p := range list(t) {
		if from, ok := place(p.ImportPath); !ok || slices.Contains([]string{"cmd", "bench", "internal", "provision"}, from) {
			continue
		}
		for _, name := range append(p.GoFiles, p.CgoFiles...) {
			path := filepath.Join(p.Dir, name)
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && flag.MatchString(text.Value[1:]) {
					t.Errorf("%s says %s: flags are named by cmd alone (cmd/conclave/hints.go)", path, text.Value)
				}
				return true
			})
		}
	}
}

func place(path string) (string, bool) {
	rest, ours := strings.CutPrefix(path, "conclave/")
	if !ours {
		return "", false
	}
	first, _, _ := strings.Cut(rest, "/")
	return first, true
}

// list is what go list says of packages, of all of the module where none are named.
func list(t *testing.T, packages ...string) []listed {
	t.Helper()
	if packages == nil {
		packages = []string{"conclave/..."}
	}
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,Standard,Imports,GoFiles,CgoFiles"}, packages...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var all []listed
	for decoder := json.NewDecoder(out); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("go list: %v", err)
	}
	return all
}
