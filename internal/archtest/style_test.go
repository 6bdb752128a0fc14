package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// columns is the greatest width of a line, in characters, where a tab is one.
const columns = 120

// TestStyle refuses, in every file that is not generated: lines over 120 columns, an if whose
// first part assigns without :=, and one statement that assigns values made in different ways.
func TestStyle(t *testing.T) {
	read := 0
	readFiles(t, func(files *token.FileSet, file *ast.File, source []byte) {
		read++
		for _, fault := range faultsOf(files, file, source) {
			t.Error(fault)
		}
	})
	if read < 500 {
		t.Errorf("only %d files were found", read)
	}
}

// readFiles calls do with each Go file of the repository that is not generated.
func readFiles(t *testing.T, do func(files *token.FileSet, file *ast.File, source []byte)) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"
		if entry.IsDir() && path != "../.." && hidden {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if !ast.IsGenerated(file) {
			do(files, file, source)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// faultsOf returns what TestStyle refuses in a file, each with its place.
func faultsOf(files *token.FileSet, file *ast.File, source []byte) (out []string) {
	fault := func(at token.Pos, format string, values ...any) {
		out = append(out, fmt.Sprintf("%s: %s", files.Position(at), fmt.Sprintf(format, values...)))
	}
	of := files.File(file.Pos())
	literals := linesOfLiterals(source)
	for i, line := range bytes.Split(source, []byte("\n")) {
		if n := utf8.RuneCount(line); n > columns && !literals[i+1] {
			fault(of.LineStart(i+1), "the line has %d columns: break it, %d are allowed", n, columns)
		}
	}
	headers := map[ast.Stmt]bool{} // of for, if and switch: one place for all that is assigned
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			headers[n.Init] = true
			if init, ok := n.Init.(*ast.AssignStmt); ok && init.Tok != token.DEFINE {
				fault(n.Pos(), "if assigns without :=: assign in a line before it")
			}
		case *ast.ForStmt:
			headers[n.Init] = true
			headers[n.Post] = true
		case *ast.SwitchStmt:
			headers[n.Init] = true
		case *ast.AssignStmt:
			if !headers[n] && !related(n.Rhs) && !exchanged(n) {
				fault(n.Pos(), "one statement assigns values that are made in different ways: assign each in its own line")
			}
		}
		return true
	})
	return out
}

// linesOfLiterals reports which lines a text literal ends in beyond the last column, fills half of,
// or goes on from: those cannot be broken.
func linesOfLiterals(source []byte) map[int]bool {
	out := map[int]bool{}
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, func(token.Position, string) {}, 0)
	for {
		at, kind, text := s.Scan()
		if kind == token.EOF {
			return out
		}
		if kind != token.STRING && kind != token.CHAR {
			continue
		}
		first := file.Line(at)
		last := first + strings.Count(text, "\n")
		for line := first; line <= last; line++ {
			out[line] = out[line] || last > first
		}
		end := file.Offset(at) + len(text)
		before := bytes.LastIndexByte(source[:end], '\n') + 1
		out[last] = out[last] || utf8.RuneCount(source[before:end]) > columns || len(text) > columns/2
	}
}

// related reports whether values are made in one way: all by the same function, all elements,
// all fields, all plain, and so on.
func related(values []ast.Expr) bool {
	for _, v := range values {
		if formOf(v) != formOf(values[0]) || formOf(v) == "func" && len(values) > 1 {
			return false
		}
	}
	return true
}

// formOf returns the way in which a value is made.
func formOf(value ast.Expr) string {
	switch v := value.(type) {
	case *ast.ParenExpr:
		return formOf(v.X)
	case *ast.BasicLit, *ast.Ident:
		return "plain"
	case *ast.CallExpr:
		switch f := v.Fun.(type) {
		case *ast.Ident:
			return "call " + f.Name
		case *ast.SelectorExpr:
			return "call " + f.Sel.Name
		}
		return "call"
	case *ast.SelectorExpr:
		return "field"
	case *ast.UnaryExpr:
		return v.Op.String() + formOf(v.X)
	case *ast.BinaryExpr:
		return v.Op.String()
	case *ast.FuncLit:
		return "func"
	}
	return fmt.Sprintf("%T", value)
}

// exchanged reports whether each variable of an assignment has a part in a value, as where two are
// exchanged: such an assignment cannot be taken apart.
func exchanged(s *ast.AssignStmt) bool {
	used := map[string]bool{}
	for _, value := range s.Rhs {
		ast.Inspect(value, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok {
				used[name.Name] = true
			}
			return true
		})
	}
	for _, variable := range s.Lhs {
		found := false
		ast.Inspect(variable, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok && used[name.Name] {
				found = true
			}
			return true
		})
		if !found {
			return false
		}
	}
	return s.Tok == token.ASSIGN
}

func TestFaultsOf(t *testing.T) {
	wide := strings.Repeat("1 + ", columns/4) + "1"
	for body, refused := range map[string]bool{
		"x := " + wide:                      true,
		`x := "` + wide + `"`:               false,
		"if x = f(); x > 0 {\n}":            true,
		"if x := f(); x > 0 {\n}":           false,
		"x, y := f(), 1":                    true,
		"x, y := f(1), f(2)":                false,
		"x, y := 0, 1":                      false,
		"x, y = y, x":                       false,
		"x[i], x[j] = x[j], x[i]":           false,
		"x, y = y, x+y":                     false,
		"for i, n := 0, f(); i < n; i++ {}": false,
	} {
		source := []byte("package p\n\nfunc g() {\n" + body + "\n}\n")
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, "p.go", source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if faults := faultsOf(files, file, source); len(faults) > 0 != refused {
			t.Errorf("%s: %q, refused has to be %v", body, faults, refused)
		}
	}
}
