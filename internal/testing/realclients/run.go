package realclients

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// running is how long a client may run; the pages' tests take some minutes on a machine
// that has much else to do.
const running = 10 * time.Minute

// Command is a client's command line.
type Command struct {
	Interpreter string   // of Python or Node
	Args        []string // the script, and what it is called with
	Dir         string   // where it runs; "": a new folder
	Env         []string // KEY=value, beside the environment of the test
}

// Run runs a client to its end and returns its standard output. The test fails, with all output, if the client's exit
// status is not 0 or it takes more than ten minutes. The client has the environment of the test without variables
// that begin with CONCLAVE_ or PYTHON; Node finds the packages of this package.
func Run(tb testing.TB, c Command) (printed string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), running)
	defer cancel()
	args := append([]string{}, c.Args...)
	if len(args) > 0 && c.Dir == "" {
		// A script is named from the test's folder, and runs in another.
		if script, err := filepath.Abs(args[0]); err == nil {
			if _, err := os.Stat(script); err == nil {
				args[0] = script
			}
		}
	}
	cmd := exec.CommandContext(ctx, c.Interpreter, args...)
	cmd.Dir = c.Dir
	if cmd.Dir == "" {
		cmd.Dir = tb.TempDir()
	}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "CONCLAVE_") && !strings.HasPrefix(entry, "PYTHON") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, "PYTHONUTF8=1", "PYTHONDONTWRITEBYTECODE=1",
		"PATH="+filepath.Dir(c.Interpreter)+string(os.PathListSeparator)+os.Getenv("PATH"))
	if filepath.Base(c.Interpreter) == "node" {
		_, modules := Node(tb)
		cmd.Env = append(cmd.Env, "NODE_PATH="+modules)
	}
	cmd.Env = append(cmd.Env, c.Env...)
	cmd.WaitDelay = time.Second // for what it started and left with its output
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		tb.Fatalf("%s: %v\n%s%s", cmd, err, out.String(), complaints.String())
	}
	return out.String()
}
