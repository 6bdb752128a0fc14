package web_test

import (
	"path/filepath"
	"testing"

	"example.org/conclave/configs"
	"example.org/conclave/internal/testing/realclients"
)

// TestChosenInBrowser: an administrator chooses results for a question on the page, as testdata/chosen.mjs says.
func TestChosenInBrowser(t *testing.T) {
	pinned(t)
	node, _ := realclients.Node(t)
	const searcher, owner = "key-of-one-who-searches", "key-of-the-owner"
	server := realclients.Server(t, realclients.ServerOptions{
		Passages: realclients.Demo(t, "tales", "health"),
		Change: func(c *configs.Config) {
			c.Auth.Keys = []configs.Key{
				key("searcher", searcher, "search"), key("owner", owner, "search", "embed", "ingest", "admin"),
			}
		},
	})
	t.Log(realclients.Run(t, realclients.Command{
		Interpreter: node,
		Args:        []string{filepath.Join("testdata", "chosen.mjs")},
		Env:         []string{"SERVER=" + server, "SEARCHER=" + searcher, "OWNER=" + owner},
	}))
}
