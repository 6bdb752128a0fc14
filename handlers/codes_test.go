package handlers

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// codesInSource are the codes that answers may have, as they stand in the source
// of the packages that answer: arguments of what makes problems, and values of
// what is called Code or code.
func codesInSource(t *testing.T) map[string]string {
	t.Helper()
	makers := map[string]bool{"newProblem": true, "add": true, "fail": true, "Refuse": true, "conditionOf": true}
	// What hands on a code that it was given. A new one has to be looked at.
	handedOn := map[string]bool{"code": true, "c.code": true, "v.code": true, "first.code": true, "refusal.Code": true, "e.Code": true, "empty": true, "w[0].code": true, "p.Code": true, "problem.Code": true, "http.StatusOK": true}
	// Embedded in a program, and not served.
	unserved := map[string]bool{"not_comparable": true}
	found := map[string]string{}
	note := func(e ast.Expr, at string) {
		if value, ok := e.(*ast.BasicLit); ok && value.Kind == gotoken.STRING {
			if code, err := strconv.Unquote(value.Value); err == nil && code != "" && !unserved[code] {
				found[code] = at
			}
			return
		}
		var text strings.Builder
		ast.Inspect(e, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok {
					text.WriteString(x.Name + "." + n.Sel.Name)
					return false
				}
			case *ast.IndexExpr:
				text.WriteString("w[0].code")
				return false
			case *ast.Ident:
				text.WriteString(n.Name)
			}
			return true
		})
		if !handedOn[text.String()] && text.String() != "w[0].codecode" {
			t.Errorf("%s: a code that is not written out: %s", at, text.String())
		}
	}
	files := gotoken.NewFileSet()
	for _, folder := range []string{".", "../search", "../jobs", "../serving"} {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			name := entry.Name()
			if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(files, filepath.Join(folder, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					maker := ""
					switch f := n.Fun.(type) {
					case *ast.Ident:
						maker = f.Name
					case *ast.SelectorExpr:
						maker = f.Sel.Name
					}
					if len(n.Args) > 1 && makers[maker] && isText(n.Args[0]) && (folder != "../serving" || maker == "Refuse") {
						note(n.Args[0], name)
					}
				case *ast.KeyValueExpr:
					if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Code" && folder != "../serving" {
						note(n.Value, name)
					}
				case *ast.AssignStmt:
					if folder == "../serving" {
						break
					}
					for i, left := range n.Lhs {
						at, ok := left.(*ast.Ident)
						if selector, is := left.(*ast.SelectorExpr); is {
							at, ok = selector.Sel, true
						}
						if ok && (at.Name == "code" || at.Name == "Code" || at.Name == "empty") && i < len(n.Rhs) && isText(n.Rhs[i]) {
							note(n.Rhs[i], name)
						}
					}
				}
				return true
			})
		}
	}
	return found
}

// isText reports whether an expression could be a code: not a call, not a number.
func isText(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == gotoken.STRING
	case *ast.Ident, *ast.SelectorExpr:
		return true
	}
	return false
}

// TestEveryCode: each code that stands in the source is in the one table and in
// the document, with the same status, and its type ends in it; and the table has
// no code that nobody answers with.
func TestEveryCode(t *testing.T) {
	source := codesInSource(t)
	source["empty_text"], source["empty_question"] = "search/problems.go", "search/problems.go" // handed to text
	source["unknown_method"] = "bodies.go"                                                      // in a schema
	table := map[string]int{}
	for _, c := range conditions() {
		if _, twice := table[c.code]; twice {
			t.Errorf("%s is in the table twice", c.code)
		}
		table[c.code] = c.status
		p := newProblem(c.code, "x")
		if p.Code != c.code || p.Status != c.status || p.Title == "" || !strings.HasSuffix(p.Type, "#problem-"+c.code) {
			t.Errorf("%+v", p)
		}
		if source[c.code] == "" {
			t.Errorf("%s is in the table, and in no source", c.code)
		}
	}
	for code, at := range source {
		if table[code] == 0 {
			t.Errorf("%s (%s) is not in the table", code, at)
		}
	}
	text, _, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Problems []struct {
			Code   string
			Status int
		} `json:"x-problems"`
		Components struct {
			Responses map[string]struct{ Description string }
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	for _, p := range document.Problems {
		if table[p.Code] != p.Status {
			t.Errorf("the document says that %s is %d, the table %d", p.Code, p.Status, table[p.Code])
		}
		if !strings.Contains(document.Components.Responses[problemName(p.Status)].Description, "`"+p.Code+"`") {
			t.Errorf("the responses do not name %s", p.Code)
		}
		delete(table, p.Code)
	}
	if len(table) > 0 || len(document.Problems) == 0 {
		t.Errorf("the document lacks %v", table)
	}
	page, err := os.ReadFile("../web/files/docs.js")
	if err != nil || !slices.ContainsFunc(strings.Split(string(page), "\n"), func(line string) bool { return strings.Contains(line, "x-problems") }) {
		t.Errorf("the reference page does not list the document's problems: %v", err)
	}
}
