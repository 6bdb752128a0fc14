package archtest

import (
	"go/ast"
	"go/token"
	"regexp"
	"testing"
)

// TestCommentsOfFunctions refuses a function's comment that begins "name is", "name are"
// or "name of": a function returns, reports or does something.
func TestCommentsOfFunctions(t *testing.T) {
	read := 0
	readFiles(t, func(files *token.FileSet, file *ast.File, _ []byte) {
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || function.Doc == nil {
				continue
			}
			read++
			if said := unlikeAFunction(function.Name.Name, function.Doc.Text()); said != "" {
				t.Errorf("%s: the comment begins %q: say what the function returns, reports or does",
					files.Position(function.Pos()), said)
			}
		}
	})
	if read < 1000 {
		t.Errorf("only %d functions with comments were found", read)
	}
}

// unlikeAFunction returns the beginning of a function's comment where it speaks of a
// thing; "" where it does not.
func unlikeAFunction(name, comment string) string {
	return regexp.MustCompile(`^` + regexp.QuoteMeta(name) + `\s+(is|are|of)\b`).FindString(comment)
}

func TestUnlikeAFunction(t *testing.T) {
	for comment, refused := range map[string]bool{
		"size is the number":    true,
		"size are numbers":      true,
		"size of a file":        true,
		"size\nis the number":   true,
		"size returns the size": false,
		"size issues a number":  false,
	} {
		if got := unlikeAFunction("size", comment) != ""; got != refused {
			t.Errorf("%q: refused %v, want %v", comment, got, refused)
		}
	}
}
