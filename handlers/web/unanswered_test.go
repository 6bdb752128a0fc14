package web_test

import (
	"path/filepath"
	"testing"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/internal/testing/realclients"
)

// TestUnansweredInBrowser: an administrator sees on the page which questions were not answered and which were, and
// forgets them there, and others are offered those that were, as testdata/unanswered.mjs says.
func TestUnansweredInBrowser(t *testing.T) {
	pinned(t)
	node, _ := realclients.Node(t)
	const searcher, owner, filtered = "key-of-one-who-searches", "key-of-the-owner", "key-of-one-with-a-filter"
	server := realclients.Server(t, realclients.ServerOptions{
		Passages: realclients.Demo(t, "tales", "health"),
		Change: func(c *configs.Config) {
			c.Auth.Keys = []configs.Key{
				key("searcher", searcher, "search"), key("owner", owner, "search", "embed", "ingest", "admin"),
				key("filtered", filtered, "search"),
			}
			c.Auth.Keys[2].Filter = `{"tags_all":["tales"]}`
			c.Answered = configs.Answered{Keep: 5, Age: time.Hour, Askers: 2}
			c.Unanswered = configs.Unanswered{Keep: 5, Age: time.Hour}
		},
	})
	t.Log(realclients.Run(t, realclients.Command{
		Interpreter: node,
		Args:        []string{filepath.Join("testdata", "unanswered.mjs")},
		Env:         []string{"SERVER=" + server, "SEARCHER=" + searcher, "OWNER=" + owner, "FILTERED=" + filtered},
	}))
}
