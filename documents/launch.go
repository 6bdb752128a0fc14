package documents

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// ConfinerOf returns a Confiner that starts programs through launcher, a program of this project. args are the
// arguments that make launcher call BecomeProgram; "--memory", the bytes of address space, "--", the program and
// its arguments follow. The program's environment has only PATH and LANG. It runs in a process group of its own,
// which is killed when the command's context ends.
func ConfinerOf(launcher string, memory int64, args ...string) Confiner {
	return func(ctx context.Context, program string, more ...string) *exec.Cmd {
		all := append(append([]string(nil), args...), "--memory", strconv.FormatInt(memory, 10), "--", program)
		return commandApart(ctx, launcher, append(all, more...)...)
	}
}

// commandApart is a Confiner that restricts nothing but the environment, which has only PATH and LANG. The program runs
// in a process group of its own, which is killed when ctx ends.
func commandApart(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	cmd.SysProcAttr = apart()
	cmd.Cancel = func() error {
		killGroup(cmd.Process)
		return nil
	}
	cmd.WaitDelay = time.Second
	return cmd
}

// BecomeProgram replaces this process by another program, which is looked up in PATH and keeps the environment. It
// gets at most `memory` bytes of address space and in a file that it writes, a low priority and, on Linux, no
// network. BecomeProgram returns only if that fails; what was taken away then stays so.
func BecomeProgram(memory int64, program string, args ...string) error {
	path, err := exec.LookPath(program)
	if err == nil {
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
		_ = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(memory), Max: uint64(memory)})
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, lessUrgent)
		forbidNetwork()
		// Go's runtime has more address space than the program may have, so a shell sets that bound.
		limit := fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, memory>>10)
		err = unix.Exec("/bin/sh", append([]string{"sh", "-c", limit, path}, args...), os.Environ())
	}
	return fmt.Errorf("start %s: %w", program, err)
}
