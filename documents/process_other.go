//go:build !linux

package documents

import (
	"os"
	"syscall"
)

// apart returns the attributes for a process that gets a process group of its own.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills a process that was started with apart, and all processes in its group; errors are ignored, as if
// it has ended.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
