//go:build amd64 || arm64

package documents

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forbidCalls limits this process to the system calls needed for memory, threads, time and open files; all others fail
// with EPERM. Without seccomp it does nothing.
func forbidCalls() {
	runtime.LockOSThread() // both calls are about a thread; the second one makes them about all
	defer runtime.UnlockOSThread()
	if unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != nil {
		return
	}
	rules := callFilter(os.Getpid())
	program := unix.SockFprog{Len: uint16(len(rules)), Filter: &rules[0]}
	_, _, _ = unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
}

// Offsets in struct seccomp_data.
const (
	callAt         = 0
	architectureAt = 4
	argumentAt     = 16 // the low half of the first argument
)

// callFilter returns the BPF program that forbidCalls installs. The program decides about a system call:
//
//  1. allowedCalls are allowed, and ownCalls if their first argument is pid, the id of this process, or 0.
//  2. clone is allowed if it starts a thread. clone3 fails with ENOSYS, so that libraries use clone instead.
//  3. A call made for another architecture kills the process.
//  4. All other calls fail with EPERM.
func callFilter(pid int) []unix.SockFilter {
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	is := func(value uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: yes, Jf: no, K: value}
	}
	ret := func(what uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what} }
	allow, deny := ret(unix.SECCOMP_RET_ALLOW), ret(unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM))
	rules := []unix.SockFilter{
		load(architectureAt), is(architecture, 1, 0), ret(unix.SECCOMP_RET_KILL_PROCESS), load(callAt),
	}
	for _, call := range allowedCalls {
		rules = append(rules, is(call, 0, 1), allow)
	}
	for _, call := range ownCalls { // their first argument is a process
		rules = append(rules, is(call, 0, 4), load(argumentAt), is(uint32(pid), 1, 0), is(0, 0, 1), allow, load(callAt))
	}
	// Threads, and no processes. clone3 hides what it is asked for; libraries then use clone.
	rules = append(rules,
		is(unix.SYS_CLONE3, 0, 1), ret(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)),
		is(unix.SYS_CLONE, 0, 3), load(argumentAt),
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jt: 0, Jf: 1, K: unix.CLONE_THREAD}, allow)
	return append(rules, deny)
}

// ownCalls are the system calls that a process may make only for itself.
var ownCalls = []uint32{unix.SYS_TGKILL, unix.SYS_SCHED_GETAFFINITY}

// commonCalls are the system calls that Go's runtime and the threads of the C library make.
var commonCalls = []uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_CLOSE, unix.SYS_FSTAT, unix.SYS_FCNTL,
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MINCORE, unix.SYS_BRK,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ,
	unix.SYS_SET_TID_ADDRESS, unix.SYS_MEMBARRIER, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME,
	unix.SYS_GETTIMEOFDAY, unix.SYS_SETITIMER, unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_DELETE,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_PIPE2, unix.SYS_PPOLL,
	unix.SYS_GETRANDOM, unix.SYS_GETRUSAGE, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}
