package documents

import "os/exec"

// WorkerOf returns a Worker that runs a program with these arguments, which must make it run Serve. A Pool starts
// the process with an empty environment.
func WorkerOf(program string, args ...string) Worker {
	return func() *exec.Cmd { return exec.Command(program, args...) }
}
