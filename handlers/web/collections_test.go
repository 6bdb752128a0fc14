package web_test

import (
	"os"
	"path/filepath"
	"testing"

	"example.org/conclave/configs"
	"example.org/conclave/internal/testing/realclients"
)

// TestCollectionsInBrowser: on a server of several collections the page offers those of the key, asks one
// or some together, makes and removes them, as testdata/collections.mjs says.
func TestCollectionsInBrowser(t *testing.T) {
	pinned(t)
	node, _ := realclients.Node(t)
	server := realclients.Server(t, realclients.ServerOptions{Change: func(c *configs.Config) {
		c.Data = filepath.Join(filepath.Dir(c.Collection), "data")
		if err := os.Mkdir(c.Data, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(c.Collection, filepath.Join(c.Data, "lamps")); err != nil {
			t.Fatal(err)
		}
		c.Collection = ""
		owner, reader := key("owner", "key-of-the-owner", "search", "ingest", "admin"), key("reader", "key-of-a-reader", "search")
		reader.Collections = []string{"kit*"}
		c.Auth.Keys = []configs.Key{owner, reader}
	}})
	t.Log(
		realclients.Run(
			t,
			realclients.Command{
				Interpreter: node,
				Args:        []string{filepath.Join("testdata", "collections.mjs")},
				Env:         []string{"SERVER=" + server, "OWNER=key-of-the-owner", "READER=key-of-a-reader"},
			},
		),
	)
}
