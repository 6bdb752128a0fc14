package disk

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestScratch: scratch memory has the value it was asked for, keeps what is written to it, and leaves no name.
func TestScratch(t *testing.T) {
	folder := t.TempDir()
	for _, size := range []int64{1, 4096, scratchStep + 5000} {
		m, err := OS{}.MapScratch(folder, size, 0xa5)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(m.Data)) != size || bytes.Count(m.Data, []byte{0xa5}) != len(m.Data) {
			t.Fatalf("%d bytes, or another value", len(m.Data))
		}
		for i := range m.Data {
			m.Data[i] = byte(i % 251)
		}
		for i, b := range m.Data {
			if b != byte(i%251) {
				t.Fatalf("byte %d is %d", i, b)
			}
		}
		if names, err := os.ReadDir(folder); err != nil || len(names) > 0 {
			t.Errorf("there are %v, %v", names, err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := (OS{}).MapScratch(folder+"/none", 1, 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in a folder that is not there: %v", err)
	}
}

// limited is the variable by which TestScratchWithoutRoom tells its child the folder.
const limited = "CONCLAVE_TEST_LIMITED_SCRATCH"

// TestScratchWithoutRoom: memory that does not fit is an error before it is used, which a process with a limit on the
// size of files meets as one with a full disk does, and not the end of the process. Nothing is left.
func TestScratchWithoutRoom(t *testing.T) {
	if folder := os.Getenv(limited); folder != "" {
		signal.Ignore(unix.SIGXFSZ)
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}); err != nil {
			t.Fatal(err)
		}
		if _, err := (OS{}).MapScratch(folder, 3<<20, 0); !errors.Is(err, syscall.EFBIG) ||
			!strings.Contains(Explain(err).Error(), "ulimit -f") {
			t.Errorf("it does not say that the file is too large: %v", err)
		}
		return
	}
	folder := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^TestScratchWithoutRoom$")
	child.Env = append(os.Environ(), limited+"="+folder)
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if names, err := os.ReadDir(folder); err != nil || len(names) > 0 {
		t.Errorf("there are %v, %v", names, err)
	}
}
