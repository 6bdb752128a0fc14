package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/cmd/internal/clitest"
)

// program is where TestMain builds conclave: the lab measures collections that it made.
var program string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "conclave-lab")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(folder, "conclave")
	if out, err := exec.Command("go", "build", "-o", program,
		"example.org/conclave/cmd/conclave").CombinedOutput(); err != nil {
		panic(string(out))
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// lab runs one command line of conclave-lab without the environment of whoever runs the tests.
func lab(t *testing.T, args ...string) (code int, out, complaints string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	term := cli.Terminal{In: strings.NewReader(""), Out: &stdout, Err: &stderr}
	code = cli.Run(t.Context(), newRoot(term), args, term)
	return code, stdout.String(), stderr.String()
}

// conclave runs one command line of conclave.
func conclave(t *testing.T, args ...string) (code int, out, complaints string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = []string{"HOME=" + t.TempDir()}
	cmd.Stdout = &stdout
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

var (
	both        = clitest.Both
	share       = clitest.Share
	write       = clitest.Write
	containsAll = clitest.ContainsAll
)

type judged = clitest.JudgedQuestion

const talesAsked, healthAsked = clitest.TalesAsked, clitest.HealthAsked

// running returns a function that runs one command line of conclave in the test.
func running(t *testing.T) clitest.Run {
	return func(args ...string) (int, string, string) { return conclave(t, args...) }
}

// calibratable makes the collection of clitest.Calibratable in a temporary folder, which becomes the present one.
func calibratable(t *testing.T) { clitest.Calibratable(t, running(t)) }

// alone returns the judged questions with the ranking of each source (clitest.Alone).
func alone(t *testing.T) []judged { return clitest.Alone(t, running(t)) }
