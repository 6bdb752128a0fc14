package web_test

import (
	"os"
	"path/filepath"
	"testing"

	"example.org/conclave/internal/testing/realclients"
)

// TestDocumentsInBrowser: files are dropped into the page, listed, found, read at the place of a
// result, replaced and deleted, as testdata/documents.mjs says. CONCLAVE_TEST_SHOTS names a folder
// for screenshots.
func TestDocumentsInBrowser(t *testing.T) {
	pinned(t)
	node, _ := realclients.Node(t)
	server := realclients.Server(t, realclients.ServerOptions{})
	t.Log(
		realclients.Run(
			t,
			realclients.Command{
				Interpreter: node,
				Args:        []string{filepath.Join("testdata", "documents.mjs")},
				Env:         []string{"SERVER=" + server, "SHOTS=" + os.Getenv("CONCLAVE_TEST_SHOTS")},
			},
		),
	)
}
