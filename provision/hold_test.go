package provision

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// holding is another process that holds a folder: this test binary, run once
// more.
func holding(t *testing.T, folder string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHolder$")
	cmd.Env = append(os.Environ(), "CONCLAVE_TEST_HOLD="+folder)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); !strings.HasPrefix(line, "held") {
		t.Fatalf("the other process says %q", line)
	}
	return cmd
}

// TestHolder is the other process of TestKilledHolder.
func TestHolder(t *testing.T) {
	folder := os.Getenv("CONCLAVE_TEST_HOLD")
	if folder == "" {
		t.Skip("for TestKilledHolder")
	}
	if _, err := Hold(folder); err != nil {
		t.Fatal(err)
	}
	_, _ = os.Stdout.WriteString("held\n")
	time.Sleep(time.Minute)
}

// TestKilledHolder: what another process holds stays, and goes once that
// process was killed.
func TestKilledHolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "folder")
	if err := os.MkdirAll(filepath.Join(folder, "inside"), 0o755); err != nil {
		t.Fatal(err)
	}
	other := holding(t, folder)
	if removed, err := RemoveUnused(folder); removed || err != nil {
		t.Errorf("removed under another process: %t, %v", removed, err)
	}
	release, err := Hold(folder)
	if err != nil {
		t.Fatalf("two cannot hold a folder: %v", err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait()
	if removed, _ := RemoveUnused(folder); removed {
		t.Error("removed though this process holds it")
	}
	release()
	if removed, err := RemoveUnused(folder); !removed || err != nil {
		t.Errorf("not removed though nobody holds it: %v", err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

// TestCollectionWithAWriterStays: package collection locks a file LOCK.
func TestCollectionWithAWriterStays(t *testing.T) {
	folder := t.TempDir()
	lock, err := os.Create(filepath.Join(folder, "LOCK"))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if removed, err := RemoveUnused(folder); removed || err != nil {
		t.Errorf("removed under its writer: %t, %v", removed, err)
	}
	_ = lock.Close()
	if removed, err := RemoveUnused(folder); !removed || err != nil {
		t.Errorf("%t, %v", removed, err)
	}
}

func TestLockWaitsAndGivesUp(t *testing.T) {
	cache := Cache{Root: t.TempDir()}
	unlock, err := cache.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := cache.Lock(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a second lock: %v", err)
	}
	unlock()
	again, err := cache.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again()
}
