//go:build amd64 || arm64

package documents

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forbidNetwork forbids this process, and the program that it becomes, to open network sockets and to inspect other
// processes: such calls fail with EPERM. Without seccomp it does nothing.
func forbidNetwork() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != nil {
		return
	}
	rules := networkFilter()
	program := unix.SockFprog{Len: uint16(len(rules)), Filter: &rules[0]}
	_, _, _ = unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
}

// networkFilter returns the BPF program of forbidNetwork. It allows no sockets but those of AF_UNIX.
func networkFilter() []unix.SockFilter {
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	is := func(value uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: yes, Jf: no, K: value}
	}
	ret := func(what uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what} }
	deny := ret(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))
	rules := []unix.SockFilter{
		load(architectureAt), is(architecture, 1, 0), ret(unix.SECCOMP_RET_KILL_PROCESS), load(callAt),
	}
	for _, call := range []uint32{
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_IO_URING_SETUP,
		unix.SYS_BPF, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_MOUNT,
	} {
		rules = append(rules, is(call, 0, 1), deny)
	}
	return append(rules,
		is(unix.SYS_SOCKET, 0, 3), load(argumentAt), is(unix.AF_UNIX, 1, 0), deny,
		ret(unix.SECCOMP_RET_ALLOW))
}
