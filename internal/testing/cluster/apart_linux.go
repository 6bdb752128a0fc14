package cluster

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// apart is the variable that a process in a network of its own has, and notAllowed the
// exit status of one that may not bring its loopback up.
const (
	apart      = "CONCLAVE_TEST_APART"
	notAllowed = 126
)

// Apart runs the tests of this process and returns the exit status. Where the system allows it, it runs them in a
// second process in a network namespace of its own, which has nothing but loopback: no other program reaches the
// nodes, and their ports are free. Otherwise, and before OpenSearch has been fetched, which needs the network, it
// runs them here.
func Apart(m *testing.M) int {
	if os.Getenv(apart) != "" {
		if raiseLoopback() != nil {
			return notAllowed
		}
		return m.Run()
	}
	if _, there, err := installationFolder(); err != nil || !there {
		return m.Run() // fetching it needs the network
	}
	again := exec.Command("/proc/self/exe", os.Args[1:]...)
	again.Env = append(os.Environ(), apart+"=1")
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWUSER, Pdeathsig: syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
	}
	runtime.LockOSThread() // Pdeathsig is of the thread
	if again.Start() != nil {
		return m.Run()
	}
	_ = again.Wait()
	switch status := again.ProcessState.ExitCode(); status {
	case notAllowed:
		return m.Run()
	case -1: // a signal
		return 1
	default:
		return status
	}
}

// raiseLoopback brings the interface lo up, which a new namespace has, but down. It fails if this process may not do
// so.
func raiseLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(socket) }()
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo)
}
