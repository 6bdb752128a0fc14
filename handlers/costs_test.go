package handlers

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/overload"
)

// TestNothingWithoutCost: an adapter or a route that does not say what it costs is not
// served, and there is no other way to the routes than open, nor to the engine than the door.
func TestNothingWithoutCost(t *testing.T) {
	x := echoing(schema.ScopeSearch)
	x.Cost = front.Cost{}
	control, err := overload.New(1, 1, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	o := newAPI(t, Options{}).options
	o.Admission = control
	o.Adapters = []Adapter{x}
	o.Metrics = nil
	o.Readiness = nil
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "costs") {
		t.Errorf("an adapter without a cost: %v", err)
	}
	api := newAPI(t, Options{Adapters: walked})
	api.registrations = nil
	some := schema.Operation{Method: "GET", Path: "/x"}
	if err := api.register(chi.NewRouter(), some, front.Cost{}, (*API).getMetrics); err == nil {
		t.Error("a route without a cost")
	}
	built, err := api.newRouter()
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]bool{}
	for _, e := range api.registrations {
		in[e.method+" "+e.pattern] = true
	}
	n := 0
	err = chi.Walk(
		built,
		func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
			if n++; method != http.MethodOptions && !in[method+" "+pattern] {
				t.Errorf("%s %s came in by another way", method, pattern)
			}
			return nil
		},
	)
	if err != nil || n < 60 {
		t.Errorf("%d routes, %v", n, err)
	}
	may := map[string]bool{"engine.go": true, "admittedengine.go": true, "health.go": true, "serve.go": true}
	for name, file := range sources(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.SelectorExpr); ok && (call.Sel.Name == "loaded" || call.Sel.Name == "engine") &&
				!may[name] {
				if of, ok := call.X.(*ast.Ident); ok && (of.Name == "a" || of.Name == "api") {
					t.Errorf("%s takes the engine past the door", name)
				}
			}
			return true
		})
	}
}

// sources returns the files of this package, without its tests.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*ast.File{}
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			out[name], err = parser.ParseFile(gotoken.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}
