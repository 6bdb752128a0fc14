package documents

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_AARCH64

// allowedCalls are commonCalls.
var allowedCalls = append([]uint32{unix.SYS_GETRLIMIT}, commonCalls...)
