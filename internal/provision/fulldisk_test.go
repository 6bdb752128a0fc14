package provision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// failing returns a Python whose pip says something and fails.
func failing(t *testing.T, says string) Pip {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "says"), []byte(says), 0o644); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "python3")
	body := fmt.Sprintf("#!/bin/sh\n[ \"$3\" = download ] || exit 0\ncat %q >&2\nexit 2\n", filepath.Join(dir, "says"))
	if err := os.WriteFile(script, []byte(body), 0o755); err != nil {
		t.Fatal(err)
	}
	return Pip{Python: script}
}

// TestPipOnAFullDisk: what pip 23 to 25 say when the folder of downloads is on
// a full disk, and when their temporary folder is.
func TestPipOnAFullDisk(t *testing.T) {
	const traceback = "WARNING: Retrying\nERROR: Exception:\nTraceback (most recent call last):\n  File \"cli.py\", line 180, in run\n    status = run_func(*args)\n"
	for _, last := range []string{
		"OSError: [Errno 28] No space left on device: '/tmp/a' -> '/b'\n",
		"OSError: [Errno 28] Auf dem Gerät ist kein Speicherplatz mehr verfügbar",
		"pip._vendor.urllib3.exceptions.ProtocolError: (\"Connection broken: OSError(28, 'No space left on device')\", OSError(28, 'No space left on device'))\n",
		"OSError: [Errno 122] Disk quota exceeded\n",
	} {
		var log bytes.Buffer
		pip := failing(t, traceback+last)
		pip.Log = &log
		dir := t.TempDir()
		err := pip.Download(context.Background(), Wheel{Package: "thing", Version: "1.0"}, dir)
		if err == nil || !strings.Contains(err.Error(), "fetching thing 1.0: the disk is full") ||
			!strings.Contains(err.Error(), dir) ||
			!strings.Contains(err.Error(), EnvCache) {
			t.Errorf("%s: %v", last, err)
		}
		if log.Len() > 0 {
			t.Errorf("passed on: %q", log.String())
		}
	}
}

// TestPipFailsOtherwise: its last words are enough.
func TestPipFailsOtherwise(t *testing.T) {
	pip := failing(t, "ERROR: Could not find a version\nERROR: No matching distribution found for thing==1.0")
	err := pip.Download(context.Background(), Wheel{Package: "thing", Version: "1.0"}, t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "No matching distribution found for thing==1.0: check the network") {
		t.Errorf("%v", err)
	}
}

func TestExplainFull(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "not", "made")
	full := &os.PathError{Op: "write", Path: "x", Err: unix.ENOSPC}
	err := ExplainFull(full, folder)
	if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "the disk is full: there are ") ||
		!strings.Contains(err.Error(), "MiB free in "+folder) {
		t.Errorf("%v", err)
	}
	if other := errors.New("other"); ExplainFull(other, folder) != other || ExplainFull(nil, folder) != nil {
		t.Error("another error was changed")
	}
}
