package provision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// Pip is a Python interpreter with pip, which downloads archives. Nothing is installed into that Python.
type Pip struct {
	Python string    // "python3"
	Log    io.Writer // pip's own progress; nil for silence
}

// Check returns an error if the interpreter or its pip is missing, with the command that installs it.
func (p Pip) Check(ctx context.Context) error {
	if _, err := exec.LookPath(p.Python); err != nil {
		return fmt.Errorf(
			"%s is not installed: install Python 3 with pip (Debian: apt-get install python3 python3-pip; macOS: xcode-select --install)",
			p.Python,
		)
	}
	if out, err := exec.CommandContext(ctx, p.Python, "-m", "pip", "--version").CombinedOutput(); err != nil {
		return fmt.Errorf(
			"%s has no pip (%s): install it (Debian: apt-get install python3-pip; else: %s -m ensurepip)", p.Python,
			lastLine(out), p.Python,
		)
	}
	return nil
}

// Download fetches one wheel into the folder dir, whatever this machine's own Python version and platform are. It
// does not verify it. The error says what pip complains about, or that a disk is full; ctx's cause if ctx ends
// first.
func (p Pip) Download(ctx context.Context, w Wheel, dir string) error {
	if err := p.Check(ctx); err != nil {
		return err
	}
	args := []string{"-m", "pip", "download", "--no-deps", "--only-binary=:all:",
		"--disable-pip-version-check", "--dest", dir}
	if w.Platform != "" {
		args = append(args, "--python-version", "3.12", "--implementation", "cp", "--abi", "cp312", "--platform", w.Platform)
	}
	args = append(args, w.Package+"=="+w.Version)
	cmd := exec.CommandContext(ctx, p.Python, args...)
	var stderr bytes.Buffer // what it complains about; on a full disk, a traceback
	cmd.Stdout = p.Log
	cmd.Stderr = &stderr
	err := cmd.Run()
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("fetching %s %s: %w", w.Package, w.Version, cause)
	}
	var exit *exec.ExitError
	switch {
	case !errors.As(err, &exit):
		return fmt.Errorf("running %s: %w", strings.Join(cmd.Args, " "), err)
	case pipFull.Match(stderr.Bytes()):
		return fullWhileFetching(w, dir)
	}
	return fmt.Errorf(
		"fetching %s %s failed: %s: check the network and pip's index settings, then run the same command again, which keeps what is there",
		w.Package, w.Version, lastLine(stderr.Bytes()),
	)
}

// lastLine returns the last line of a program's output that is not blank, trimmed; "" if there is none.
func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
