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

// module is the path before that of each package.
const module = "example.org/conclave/"

// allowed lists, for each room, the rooms that it may import. docs/ARCHITECTURE.md draws
// the same arrows. A package is in the room with the longest path that begins its own; one
// that is in no room may not exist.
var allowed = map[string][]string{
	"ann":    {"bm25", "bm25/forms", "internal/disk", "internal/rank"},
	"bm25":   {"bm25/forms", "internal/disk", "internal/normalise", "internal/rank"},
	"fusion": {"internal/rank"},
	"models": {"internal/disk", "models/convert/onnx", "models/convert/safetensors", "models/convert/t5"},
	"encoder": {
		"encoder/framing", "internal/disk", "internal/identity", "internal/normalise", "models", "models/convert/t5",
	},
	"search": {
		"fusion", "internal/completion", "internal/conditions", "internal/corpus", "internal/identity", "internal/normalise",
		"internal/rank", "internal/spelling",
		"internal/talk", "internal/wording", "search/ask", "search/extract", "search/fault", "search/internal/answering",
		"search/internal/content", "search/internal/plan", "search/internal/presenting", "search/internal/question",
		"search/internal/run", "search/internal/snapshot", "search/internal/sources", "search/learned",
		"search/lookup", "search/reply", "search/storage", "search/turn",
	},
	"search/fault":                     {"internal/wording"},
	"search/internal/answering/naming": {},
	"search/internal/run":              {"internal/disk", "search/turn"},
	"search/internal/snapshot": {
		"internal/conditions", "internal/corpus", "internal/identity", "internal/rank", "internal/wording",
		"search/internal/run", "search/storage",
	},
	"search/storage": {
		"internal/conditions", "internal/corpus", "internal/rank", "internal/spelling", "internal/wording",
		"search/fault",
	},
	"search/turn":         {},
	"internal/completion": {"internal/normalise", "internal/spelling"},
	"search/internal/content": {
		"internal/corpus", "internal/languages", "internal/rank", "search/internal/snapshot", "search/storage",
	},
	"search/internal/sources": {
		"fusion", "internal/corpus", "internal/identity", "internal/languages", "internal/rank", "internal/wording",
		"search/fault", "search/internal/content", "search/internal/run", "search/internal/snapshot", "search/learned",
		"search/reply", "search/storage",
	},
	"search/internal/question": {
		"internal/granules", "internal/rank", "internal/spelling", "search/ask", "search/internal/content",
		"search/internal/run", "search/internal/snapshot", "search/internal/sources", "search/learned",
		"search/reply", "search/storage",
	},
	"search/internal/answering/grounds": {
		"internal/granules", "search/internal/answering/naming", "search/internal/content",
	},
	"search/internal/answering": {
		"fusion", "internal/conditions", "internal/corpus", "internal/rank", "internal/talk", "internal/wording", "search/ask", "search/extract",
		"search/fault", "search/internal/answering/grounds", "search/internal/answering/naming", "search/internal/content", "search/internal/plan",
		"search/internal/run", "search/internal/sources", "search/learned", "search/reply", "search/storage",
	},
	"search/internal/plan": {
		"fusion", "search/ask", "search/internal/sources", "search/learned", "search/reply", "search/storage",
	},
	"search/internal/presenting": {
		"fusion", "internal/conditions", "internal/corpus", "internal/identity", "internal/rank", "internal/wording",
		"search/ask", "search/internal/answering", "search/internal/content", "search/internal/plan", "search/internal/run",
		"search/internal/sources", "search/reply", "search/storage",
	},
	"internal/identity": {"internal/conditions"},
	"search/ask":        {"internal/languages", "internal/normalise", "search/internal/content", "search/storage"},
	"search/extract":    {"internal/corpus", "search/ask", "search/internal/run", "search/learned", "search/reply"},
	"search/learned":    {"internal/corpus", "search/reply"},
	"search/reply":      {"internal/conditions", "internal/corpus", "search/internal/run", "search/storage"},
	"search/lookup": {
		"internal/completion", "internal/conditions", "internal/corpus", "internal/identity", "internal/rank", "internal/wording",
		"search/fault", "search/internal/answering", "search/internal/presenting", "search/internal/run",
		"search/internal/snapshot", "search/learned", "search/reply", "search/storage", "search/turn",
	},
	"bm25/forms":                {"bm25", "internal/languages", "internal/normalise"},
	"store/folder/internal/wal": {"internal/corpus", "internal/disk"},
	"handlers/schema":           {"internal/conditions", "internal/plaintext", "internal/wording", "search"},
	"handlers/front": {
		"handlers/schema", "internal/collections", "internal/conditions", "internal/identity", "internal/overload",
		"internal/wording",
	},
	"handlers/upload":                   {"handlers/schema", "internal/overload"},
	"encoder/framing":                   {},
	"store/folder/internal/segmentfile": {"internal/disk", "internal/rank", "store/folder/internal/manifest"},
	"store/folder/internal/manifest":    {"ann", "bm25", "bm25/forms", "internal/disk", "internal/rank", "store"},
	"calibration": {
		"fusion", "internal/disk", "internal/languages", "internal/questions", "internal/rank", "search", "search/extract",
		"search/reply",
	},
	"evaluation": {
		"calibration", "fusion", "internal/corpus", "internal/disk", "internal/questions", "internal/rank", "search",
		"search/ask", "search/extract", "search/fault", "search/learned", "search/reply",
	},
	"documents":          {"internal/corpus", "internal/granules"},
	"endpoints":          {},
	"generators":         {"bm25", "bm25/forms", "endpoints", "internal/languages"},
	"internal/keeping":   {"documents", "internal/corpus", "store"},
	"internal/originals": {"documents", "internal/corpus", "internal/disk"},
	"internal/sites":     {"internal/disk"},
	"internal/guide": {
		"docs", "documents", "handlers/web", "internal/corpus", "search", "search/turn", "store", "store/folder",
		"store/folder/view",
	},
	"configs": {"internal/conditions", "internal/wording"},

	"models/convert": {
		"encoder/framing", "internal/disk", "models", "models/convert/onnx", "models/convert/safetensors",
		"models/convert/t5", "models/convert/tensors",
	},
	"models/convert/e5s":         {},
	"models/convert/onnx":        {},
	"models/convert/safetensors": {"internal/disk"},
	"models/convert/t5":          {"models/convert/onnx", "models/convert/tensors"},
	"models/convert/tensors":     {},
	"models/numerics":            {},

	"store": {
		"ann", "bm25", "bm25/forms", "internal/corpus", "internal/disk", "internal/jobs/lease", "internal/rank",
		"search/storage",
	},
	"store/folder": {
		"ann", "bm25", "bm25/forms", "internal/conditions", "internal/corpus", "internal/disk", "internal/rank",
		"internal/spelling", "store", "store/folder/internal/manifest", "store/folder/internal/segmentfile",
		"store/folder/internal/wal",
	},
	"store/folder/view": {
		"internal/conditions", "internal/corpus", "internal/rank", "internal/spelling", "search/storage",
		"store/folder",
	},
	"store/folder/backend": {
		"calibration", "internal/collections", "internal/conditions", "internal/corpus", "internal/disk",
		"internal/jobs/lease", "internal/rank", "search/storage", "store", "store/folder", "store/folder/view",
	},
	"store/opensearch/backend": {
		"ann", "internal/corpus", "internal/jobs/lease", "search/storage", "store", "store/opensearch", "store/opensearch/cluster",
		"store/opensearch/schema",
	},
	"store/opensearch": {
		"ann", "bm25", "bm25/forms", "internal/conditions", "internal/corpus", "internal/jobs/lease", "internal/rank",
		"internal/spelling", "search/storage", "search/turn", "store", "store/opensearch/cluster",
		"store/opensearch/schema",
	},
	"store/opensearch/cluster": {"search/turn", "store"},
	"store/opensearch/schema": {
		"ann", "bm25", "bm25/forms", "internal/conditions", "internal/corpus", "internal/rank", "internal/spelling",
		"store", "store/opensearch/cluster",
	},

	"handlers": {
		"documents", "handlers/front", "handlers/schema", "handlers/upload", "handlers/web", "internal/asked", "internal/collections", "internal/completion",
		"internal/conditions", "internal/corpus", "internal/identity", "internal/jobs", "internal/judgments",
		"internal/keeping", "internal/languages", "internal/originals", "internal/overload", "internal/plaintext",
		"internal/sites",
		"internal/wording", "search", "search/ask", "search/fault", "search/learned", "search/lookup", "search/reply",
		"search/storage", "search/turn", "store",
	},
	"handlers/adapters": {
		"handlers", "handlers/front", "handlers/schema", "internal/collections", "internal/conditions",
		"internal/corpus", "internal/identity", "internal/languages", "internal/talk", "search", "search/ask",
		"search/fault", "search/learned", "search/lookup", "search/reply", "search/storage",
	},
	"handlers/web": {"docs"},

	"shipped":      {"configs", "internal/provision", "models", "models/convert", "models/convert/e5s"},
	"shipped/demo": {"configs", "internal/disk", "internal/provision", "models", "shipped", "store", "store/folder"},

	"internal/rank":       {},
	"internal/disk":       {},
	"internal/plaintext":  {},
	"internal/normalise":  {},
	"internal/granules":   {"internal/rank"},
	"internal/languages":  {},
	"internal/spelling":   {"internal/disk", "internal/normalise"},
	"internal/conditions": {"internal/corpus", "internal/wording"},
	"internal/corpus": {
		"internal/disk", "internal/languages", "internal/plaintext", "internal/rank", "internal/wording",
	},
	"internal/talk":        {},
	"internal/questions":   {"internal/disk", "internal/plaintext", "internal/rank", "internal/wording"},
	"internal/provision":   {"internal/disk"},
	"internal/tracing":     {},
	"internal/overload":    {"internal/identity"},
	"internal/wording":     {},
	"internal/collections": {"internal/disk"},
	"internal/jobs":        {"internal/conditions", "internal/disk", "internal/jobs/lease"},
	"internal/judgments":   {"internal/disk"},
	"internal/asked":       {"internal/disk"},
	"internal/jobs/lease":  {},
	"internal/stores": {
		"ann", "configs", "internal/collections", "internal/disk", "store", "store/folder/backend",
		"store/opensearch", "store/opensearch/backend", "store/opensearch/cluster", "store/opensearch/schema",
	},
	"internal/capacity": {"configs", "internal/overload", "search"},
	"internal/experts": {
		"configs", "encoder", "endpoints", "generators", "internal/capacity", "internal/corpus", "internal/granules",
		"internal/languages", "internal/provision", "internal/rank", "models", "search", "search/learned", "search/reply",
		"shipped", "store",
	},
	"internal/assembly": {
		"ann", "bm25/forms", "calibration", "configs", "fusion", "internal/capacity", "internal/collections", "internal/conditions",
		"internal/corpus", "internal/disk", "internal/experts", "internal/questions", "internal/rank",
		"internal/stores", "models", "search", "search/ask", "search/learned", "search/reply", "search/storage",
		"search/turn", "shipped", "store",
	},
	"internal/indexing": {
		"bm25/forms", "configs", "internal/collections", "internal/conditions", "internal/corpus", "internal/disk",
		"internal/experts", "internal/languages", "internal/provision", "internal/questions", "internal/rank", "internal/stores",
		"internal/wording", "search/reply", "shipped", "store", "store/folder",
	},
	"internal/doctor": {
		"ann", "calibration", "configs", "encoder", "internal/assembly", "internal/capacity", "internal/disk",
		"internal/experts", "internal/granules", "internal/provision", "internal/stores", "models", "search",
		"search/learned", "shipped", "store",
	},
	"internal/server": {
		"ann", "bm25/forms", "calibration", "configs", "documents", "encoder", "evaluation", "handlers", "handlers/adapters",
		"handlers/front", "handlers/schema", "internal/assembly", "internal/capacity", "internal/collections",
		"internal/conditions", "internal/corpus", "internal/disk", "internal/experts", "internal/guide",
		"internal/jobs", "internal/judgments", "internal/keeping", "internal/languages", "internal/originals", "internal/overload",
		"internal/provision", "internal/questions", "internal/sites", "internal/stores", "internal/asked",
		"internal/wording", "models", "search", "search/learned", "search/lookup", "search/reply", "search/storage", "shipped", "store",
	},

	"cmd": {"*"},

	"research/ablation": {"calibration", "evaluation", "fusion"},
	"research/pools": {
		"calibration", "evaluation", "fusion", "internal/questions", "internal/rank", "search",
	},
	"research/bench": {
		"ann", "bm25", "bm25/forms", "encoder", "fusion", "generators", "internal/assembly", "internal/conditions",
		"internal/corpus", "internal/disk", "internal/experts", "internal/provision", "internal/questions",
		"internal/rank", "models", "models/convert/e5s", "search", "store", "store/folder",
	},

	"internal/archtest": {},
	"internal/endtoend": {"*"},
	"internal/sbom":     {"internal/provision"},
	"deploy/release":    {"internal/provision"},
	"research/data":     {},
	"internal/testing":  {"*"},

	// Not in Go, with tests in Go:
	"docs":                {},
	"deploy":              {},
	"client":              {},
	"client/python":       {},
	"client/integrations": {},
	"client/examples":     {},
}

// pure reports whether a room builds without a C compiler: all but those that run encoders.
func pure(room string) bool {
	return !slices.Contains(
		[]string{
			"encoder",
			"internal/assembly",
			"internal/doctor",
			"internal/experts",
			"internal/indexing",
			"internal/server",
			"cmd",
			"internal/endtoend",
			"internal/testing",
			"research/bench",
		},
		room,
	)
}

// apart are packages whose parts a command does not put together itself: that is for
// store, search, internal/assembly and internal/indexing.
var apart = []string{"example.org/conclave/ann", "example.org/conclave/bm25", "example.org/conclave/fusion"}

// only says which package, with those below it, may import a library.
var only = map[string]string{
	"github.com/yalue/onnxruntime_go": "encoder",
	"github.com/sugarme/tokenizer":    "encoder",
	"github.com/coder/hnsw":           "ann",
	"github.com/spf13/viper":          "configs",
	"github.com/go-chi/chi/v5":        "handlers",
	"C":                               "encoder",

	"github.com/modelcontextprotocol/go-sdk": "handlers/adapters",
	"github.com/openai/openai-go/v3":         "generators",
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
			t.Errorf(
				"package %s is in no place that the architecture knows: name it in docs/ARCHITECTURE.md and here",
				p.ImportPath,
			)
			continue
		}
		for _, path := range p.Imports {
			if to, ours := place(path); ours && to != from && !slices.Contains(may, to) && !slices.Contains(may, "*") {
				t.Errorf(
					"%s imports %s: the architecture has no arrow from %s to %s (it has %v)",
					p.ImportPath,
					path,
					from,
					to,
					may,
				)
			}
			if from == "cmd" && slices.Contains(apart, path) {
				t.Errorf("%s imports %s: commands are flags, wiring and printing", p.ImportPath, path)
			}
			for library, owner := range only {
				within := from == owner || strings.HasPrefix(from, owner+"/")
				if (path == library || strings.HasPrefix(path, library+"/")) && !within {
					t.Errorf("%s imports %s, which belongs to %s and what is below it", p.ImportPath, path, owner)
				}
			}
		}
	}
}

// TestProductNeverImportsResearch: what measures is no part of what is installed, and of all
// programs conclave-lab alone has it.
func TestProductNeverImportsResearch(t *testing.T) {
	for _, p := range list(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		if strings.HasPrefix(path, "research/") || path == "cmd/conclave-lab" {
			continue
		}
		for _, imported := range p.Imports {
			if strings.HasPrefix(imported, module+"research/") {
				t.Errorf("%s imports %s: research belongs to cmd/conclave-lab", p.ImportPath, imported)
			}
		}
	}
	for _, p := range list(t, "-deps", module+"cmd/conclave") {
		if strings.HasPrefix(p.ImportPath, module+"research/") {
			t.Errorf("cmd/conclave needs %s", p.ImportPath)
		}
	}
}

// TestNoCgoOutsideEncoder: what must build without a C compiler has no cgo files, and
// needs no package with such files but Go's own, which has others in their place.
func TestNoCgoOutsideEncoder(t *testing.T) {
	var listedPure []string
	for _, p := range list(t) {
		from, ok := place(p.ImportPath)
		if !ok || !pure(from) || strings.HasPrefix(p.ImportPath, module+"models/numerics") {
			continue
		}
		if len(p.CgoFiles) > 0 {
			t.Errorf("%s has cgo files %v", p.ImportPath, p.CgoFiles)
		}
		if len(p.GoFiles) > 0 { // else it has tests alone
			listedPure = append(listedPure, p.ImportPath)
		}
	}
	for _, p := range list(t, append([]string{"-deps"}, listedPure...)...) {
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
		if from, ok := place(p.ImportPath); !ok ||
			slices.Contains([]string{"cmd", "internal/endtoend", "internal/testing", "internal/sbom", "internal/provision"},
				from) ||
			strings.HasPrefix(from, "research/") {
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
					t.Errorf("%s says %s: flags are named by cmd alone (cmd/internal/cli/hints.go)", path, text.Value)
				}
				return true
			})
		}
	}
}

// place returns the room of a package of this project.
func place(path string) (room string, ours bool) {
	rest, ours := strings.CutPrefix(path, module)
	for room = rest; room != "." && room != "" && allowed[room] == nil; room = filepath.Dir(room) {
	}
	if room == "." || room == "" {
		room = rest
	}
	return room, ours
}

// list returns what go list says of packages, of all of the module where none are named.
func list(t *testing.T, packages ...string) []listed {
	t.Helper()
	if packages == nil {
		packages = []string{module + "..."}
	}
	cmd := exec.Command(
		"go",
		append([]string{"list", "-json=ImportPath,Dir,Standard,Imports,GoFiles,CgoFiles"}, packages...)...)
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
