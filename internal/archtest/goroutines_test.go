package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestGoroutines: the folders in which goroutines start are those of the table in
// docs/ARCHITECTURE.md, which says what ends them.
func TestGoroutines(t *testing.T) {
	text, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "\n## Goroutines\n")
	if !ok {
		t.Fatal("docs/ARCHITECTURE.md has no section on goroutines")
	}
	listed := map[string]bool{} // by folder: whether some start there
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1) {
		listed[row[1]] = false
	}
	err = filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
		if entry.IsDir() {
			if strings.HasPrefix(entry.Name(), ".") && path != "../.." || entry.Name() == "node_modules" ||
				name == "research" || name == "internal/testing" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || !startsGoroutines(t, path) {
			return nil
		}
		for _, folder := range slices.Backward(slices.Sorted(maps.Keys(listed))) {
			if strings.HasPrefix(name, folder+"/") {
				listed[folder] = true
				return nil
			}
		}
		t.Errorf("%s starts a goroutine: say in docs/ARCHITECTURE.md what starts in its folder, and what ends it", name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder, starts := range listed {
		if !starts {
			t.Errorf("docs/ARCHITECTURE.md lists %s, where no goroutine starts", folder)
		}
	}
}

// startsGoroutines reports whether a file has a go statement, or calls a method Go of a group.
func startsGoroutines(t *testing.T, path string) (starts bool) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.CallExpr:
			if selector, ok := n.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == "Go" {
				starts = true
			}
		}
		return !starts
	})
	return starts
}
