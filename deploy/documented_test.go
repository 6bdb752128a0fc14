package deploy

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.org/conclave/internal/testing/testenv"

	"go.yaml.in/yaml/v3"
)

// TestDocumented runs the blocks of docs/operations.md, in their order, beside a server of
// a small collection. Of those for Docker, which a test machine need not have, the services
// and profiles are looked up.
func TestDocumented(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	root := testenv.Root(t)
	text, err := os.ReadFile(filepath.Join(root, "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "bin", "conclave")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program,
		"example.org/conclave/cmd/conclave").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	passages := `{"id":"1","title":"Rice","text":"Cooked rice keeps for a day in the fridge."}` + "\n"
	configuration := "runtime: " + testenv.Runtime(t) + "\n"
	for name, content := range map[string]string{"passages.jsonl": passages, "conclave.yaml": configuration} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	shell := func(script string) *exec.Cmd {
		command := exec.CommandContext(
			t.Context(), "bash", "-euo", "pipefail", "-c", strings.ReplaceAll(script, "127.0.0.1:8080", address),
		)
		command.Dir = dir
		for _, entry := range os.Environ() {
			if !strings.HasPrefix(entry, "CONCLAVE_") || strings.HasPrefix(entry, "CONCLAVE_CACHE=") {
				command.Env = append(command.Env, entry)
			}
		}
		command.Env = append(command.Env, "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
		return command
	}
	run := func(script string) string {
		t.Helper()
		out, err := shell(script).CombinedOutput()
		if err != nil {
			t.Errorf("%s\n%v\n%s", script, err, out)
		}
		return string(out)
	}
	run("conclave index --collection my-index --in passages.jsonl --experts none")
	server := shell("exec conclave serve --collection my-index --listen " + address)
	var log bytes.Buffer
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		if err := server.Wait(); err != nil {
			t.Errorf("the server ended with %v\n%s", err, log.String())
		}
	}()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		response, err := http.Get("http://" + address + "/readyz")
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				break
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("the server is not ready")
		}
	}
	said, ran := "", 0
	for _, block := range regexp.MustCompile("(?ms)^```bash\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		if strings.HasPrefix(block[1], "docker ") {
			checkDocker(t, root, block[1])
			continue
		}
		ran++
		said += run(block[1])
	}
	for _, want := range []string{"nightly: generation 1, 1 passage", "Rice", "  -\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("nothing says %q:\n%s", want, said)
		}
	}
	if ran != 6 {
		t.Errorf("%d blocks were run", ran)
	}
}

// checkDocker looks up the services and profiles that docker compose is called with.
func checkDocker(t *testing.T, root, block string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var compose struct {
		Services map[string]struct{ Profiles []string }
	}
	if err := yaml.Unmarshal(text, &compose); err != nil {
		t.Fatal(err)
	}
	profiles := map[string]bool{}
	for _, s := range compose.Services {
		for _, profile := range s.Profiles {
			profiles[profile] = true
		}
	}
	for line := range strings.Lines(block) {
		words := strings.Fields(line)
		if len(words) < 4 || words[0] != "docker" || words[1] != "compose" {
			t.Errorf("%s: this is not docker compose", line)
			continue
		}
		for i := 2; i < len(words); i++ {
			word := words[i]
			_, service := compose.Services[word]
			switch {
			case word == "--profile":
				i++
				if !profiles[words[i]] {
					t.Errorf("%s: there is no profile %s", line, words[i])
				}
			case word == "run" || word == "up" || word == "build" || strings.HasPrefix(word, "--"):
			case service && words[i-1] != "up" && strings.Contains(line, " run "):
				i = len(words) // the rest is the service's own command
			case !service:
				t.Errorf("%s: there is no service %s", line, word)
			}
		}
	}
}
