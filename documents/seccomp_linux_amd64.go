package documents

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_X86_64

// allowedCalls are commonCalls and those that other architectures do without. The calls of the x32
// interface have other numbers, and are none of them.
var allowedCalls = append([]uint32{
	unix.SYS_ARCH_PRCTL, unix.SYS_EPOLL_WAIT, unix.SYS_POLL, unix.SYS_GETRLIMIT,
}, commonCalls...)
