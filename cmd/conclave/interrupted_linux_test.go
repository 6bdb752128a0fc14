package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"
	"time"
	"unsafe"

	"example.org/conclave/cmd/internal/cli"

	"golang.org/x/sys/unix"
)

// interruptAll makes the kernel interrupt every call of one kind by this process, without end.
func interruptAll(call uintptr) error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: uint32(call)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EINTR)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, err := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program))); err != 0 {
		return err
	}
	return nil
}

const cannotInterrupt = 77 // exit code of a child whose kernel has no such filter

// TestInterruptedWithoutEnd: where every mkdir is interrupted a command fails, and where another
// call never ends, one signal ends the process.
func TestInterruptedWithoutEnd(t *testing.T) {
	calls := map[string]uintptr{"mkdirat": unix.SYS_MKDIRAT, "symlinkat": unix.SYS_SYMLINKAT}
	if name := os.Getenv("CONCLAVE_TEST_INTERRUPTED"); name != "" {
		if err := interruptAll(calls[name]); err != nil {
			os.Exit(cannotInterrupt)
		}
		term := cli.Terminal{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Ending: cli.NewEnding()}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		if name == "mkdirat" {
			os.Exit(run(ctx, []string{"index", "--collection", "a/c", "--in", "p.jsonl", "--experts", "none"}, term))
		}
		term.Ending.Grace.Store(int64(10 * time.Millisecond))
		defer term.Ending.Watch(ctx, term, func() { os.Exit(cli.ExitFailed) })()
		if err := unix.Kill(os.Getpid(), unix.SIGINT); err != nil {
			os.Exit(cannotInterrupt)
		}
		t.Fatal(os.Symlink("a", "b")) // which package os makes again without end
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"mkdirat": "interrupted system call", "symlinkat": "did not end"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(dir+"/p.jsonl", []byte(`{"id":"1","text":"zebra"}`+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			child := exec.CommandContext(t.Context(), program, "-test.run=^TestInterruptedWithoutEnd$")
			child.Env = append(os.Environ(), "CONCLAVE_TEST_INTERRUPTED="+name)
			child.Dir = dir
			var out bytes.Buffer
			child.Stdout, child.Stderr = &out, &out
			err := child.Run()
			if child.ProcessState.ExitCode() == cannotInterrupt {
				t.Skip("the kernel cannot be told to interrupt calls")
			}
			if child.ProcessState.ExitCode() != cli.ExitFailed || !strings.Contains(out.String(), want) {
				t.Errorf("%v: %s", err, out.String())
			}
		})
	}
}
