package endtoend

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"example.org/conclave/configs"
	"example.org/conclave/internal/testing/realclients"
	"example.org/conclave/internal/testing/testenv"
)

// TestPostmanCollection runs the collection of docs/postman twice in a row against a
// fresh server, as somebody does who imported it: every request is sent, and what each
// of them says about its answer holds.
func TestPostmanCollection(t *testing.T) {
	node, modules := realclients.Node(t)
	server := realclients.Server(
		t,
		realclients.ServerOptions{Passages: realclients.Demo(t), Change: func(c *configs.Config) {
			c.Cache = "" // where the shipped reader is
		}},
	)
	folder := filepath.Join(testenv.Root(t), "docs", "postman")
	for run := 1; run <= 2; run++ {
		printed := realclients.Run(t, realclients.Command{Interpreter: node, Args: []string{
			filepath.Join(
				modules, "newman", "bin", "newman.js",
			), "run", filepath.Join(folder, "conclave.postman_collection.json"),
			"--environment", filepath.Join(folder, "conclave.postman_environment.json"), "--env-var", "baseUrl=" + server,
			"--reporters", "json,cli", "--reporter-json-export", "/dev/fd/1", "--reporter-cli-silent",
		}})
		var report struct {
			Run struct {
				Stats struct {
					Requests, Assertions struct{ Total, Failed int }
				}
			}
		}
		if err := json.Unmarshal([]byte(printed), &report); err != nil {
			t.Fatalf("run %d: %v\n%s", run, err, printed)
		}
		// An assertion that was never reached is not counted.
		if s := report.Run.Stats; s.Requests.Total < 30 || s.Assertions.Total < s.Requests.Total ||
			s.Requests.Failed+s.Assertions.Failed > 0 {
			t.Errorf("run %d: %+v", run, s)
		}
	}
}
