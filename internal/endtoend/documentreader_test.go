package endtoend

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.org/conclave/internal/testing/testenv"
)

// reader is somebody who follows the documents in a folder of their own.
type reader struct {
	t       *testing.T
	dir     string
	address string
	env     []string
	server  *exec.Cmd
	log     *testenv.Buffer
}

// run runs a command as shown, but for the port.
func (r *reader) run(c shown) {
	r.t.Helper()
	began := time.Now()
	text := strings.ReplaceAll(c.text, "127.0.0.1:8080", r.address)
	if strings.HasPrefix(text, "conclave serve ") {
		r.serve(text)
		return
	}
	if strings.HasPrefix(text, "conclave index ") && !strings.Contains(text, " --url ") {
		r.stop() // one process writes
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Minute)
	defer cancel()
	curl := strings.HasPrefix(text, "curl ")
	if curl {
		text = "curl -w '%{stderr}STATUS %{http_code}' " + strings.TrimPrefix(text, "curl ")
	}
	cmd := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", text)
	var out, complaints bytes.Buffer
	cmd.Dir = r.dir
	cmd.Env = r.env
	cmd.Stdout = &out
	cmd.Stderr = &complaints
	if err := cmd.Run(); err != nil {
		r.t.Fatalf("%s: %s: %v\n%s%s", c.line, text, err, out.String(), complaints.String())
	}
	if curl {
		refused := strings.Contains(c.output, `"status":4`) && !strings.Contains(c.output, `"line":`)
		if status := complaints.String(); strings.Contains(status, "STATUS 2") == refused {
			r.t.Errorf("%s: %s: %s, shown is %s\n%s", c.line, text, status, c.output, out.String())
		}
	}
	if strings.Contains(text, "/v1/admin/experts") {
		r.jobEnds()
	}
	r.t.Logf("%s: %.1f s: %s", c.line, time.Since(began).Seconds(), strings.Join(strings.Fields(c.text), " "))
}

// serve starts a server and waits until it is ready.
func (r *reader) serve(text string) {
	r.t.Helper()
	r.stop() // one process writes
	r.log = &testenv.Buffer{}
	r.server = exec.Command("bash", "-c", "exec "+text+" --listen "+r.address)
	r.server.Dir, r.server.Env, r.server.Stdout, r.server.Stderr = r.dir, r.env, r.log, r.log
	if err := r.server.Start(); err != nil {
		r.t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		check := exec.Command("conclave", "healthcheck", "--url", "http://"+r.address)
		check.Path = filepath.Join(r.dir, "bin", "conclave")
		check.Err = nil
		check.Env = r.env
		if check.Run() == nil {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%s: not ready:\n%s", text, r.log.String())
		}
	}
}

// stop ends the server there is.
func (r *reader) stop() {
	if r.server == nil {
		return
	}
	_ = r.server.Process.Signal(syscall.SIGTERM)
	if err := r.server.Wait(); err != nil {
		r.t.Errorf("the server ended with %v:\n%s", err, r.log.String())
	}
	r.server = nil
}

// jobEnds waits for the job that was asked for.
func (r *reader) jobEnds() {
	r.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		out, err := exec.Command("curl", "-s", "http://"+r.address+"/v1/jobs/1").Output()
		if err != nil || strings.Contains(string(out), `"failed"`) || time.Now().After(deadline) {
			r.t.Fatalf("job 1: %s, %v", out, err)
		}
		if strings.Contains(string(out), `"done"`) {
			return
		}
	}
}
