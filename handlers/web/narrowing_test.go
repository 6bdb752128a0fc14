package web_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/internal/testing/realclients"
)

// TestNarrowingInBrowser: the page offers fields of metadata as boxes and ranges, sorts by them, and keeps
// that in its address, as testdata/narrowing.mjs says.
func TestNarrowingInBrowser(t *testing.T) {
	pinned(t)
	node, _ := realclients.Node(t)
	var passages strings.Builder
	for i := range 24 {
		language := []string{"de", "en", "fr"}[i%3]
		shelf := []string{`"7"`, `7`, `true`, `"A, B"`}[i%4]
		_, _ = fmt.Fprintf(&passages, `{"id":"kite/%d","title":"Kite %d","text":"Kite number %d flies over the harbour of Lund.",`+
			`"metadata":{"language":%q,"price":%d.5,"day":"2024-05-%02d","shelf":%s,"serial":"S-%d"}}`+"\n",
			i, i, i, language, 3*i, i+1, shelf, i)
	}
	server := realclients.Server(t, realclients.ServerOptions{Passages: passages.String()})
	t.Log(
		realclients.Run(
			t,
			realclients.Command{
				Interpreter: node,
				Args:        []string{filepath.Join("testdata", "narrowing.mjs")},
				Env:         []string{"SERVER=" + server},
			},
		),
	)
}
