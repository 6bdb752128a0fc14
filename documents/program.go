package documents

import "os/exec"

// WorkerOf returns a Worker that starts a program whose arguments make it run Serve. The process has an empty
// environment.
func WorkerOf(program string, args ...string) Worker {
	return func() *exec.Cmd { return exec.Command(program, args...) }
}
