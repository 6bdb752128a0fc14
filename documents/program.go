package documents

import (
	"os"
	"os/exec"
)

// WorkerOf starts a program as a reader of PDF, with arguments that make it run ServePDF.
// The process has an empty environment but for the folder for temporary files.
func WorkerOf(program string, args ...string) Worker {
	return func() *exec.Cmd {
		cmd := exec.Command(program, args...)
		cmd.Env = []string{"TMPDIR=" + os.TempDir()}
		return cmd
	}
}
