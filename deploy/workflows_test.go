package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// tool returns a command of the module of tools, whose versions and sums its go.mod and go.sum pin.
func tool(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("builds tools")
	}
	return exec.CommandContext(t.Context(), "go", args...)
}

// TestWorkflows: actionlint accepts the workflows; no token has more than it needs, actions are pinned by commit, and a
// step that is no action runs a script of the repository, which anybody can run by hand.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil || len(files) < 2 {
		t.Fatalf("workflows: %v, %v", files, err)
	}
	pinned := regexp.MustCompile(`^[a-z-]+/[a-z-]+@[0-9a-f]{40}$`)
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var workflow struct {
			Permissions map[string]string
			Jobs        map[string]struct {
				Permissions map[string]string
				Timeout     int `yaml:"timeout-minutes"`
				Steps       []struct {
					Uses, Run string
				}
			}
		}
		if err := yaml.Unmarshal(text, &workflow); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if workflow.Permissions == nil || len(workflow.Permissions) > 0 {
			t.Errorf("%s: by default a job may %v", path, workflow.Permissions)
		}
		for name, job := range workflow.Jobs {
			for permission, level := range job.Permissions {
				if permission != "contents" || level == "write" && name != "publish" {
					t.Errorf("%s: %s has %s: %s", path, name, permission, level)
				}
			}
			if job.Timeout == 0 {
				t.Errorf("%s: %s may take six hours", path, name)
			}
			for _, step := range job.Steps {
				if step.Uses != "" {
					if !pinned.MatchString(step.Uses) {
						t.Errorf("%s: %s is not pinned by a commit", path, step.Uses)
					}
					continue
				}
				program := strings.Fields(step.Run)[0]
				if info, err := os.Stat(filepath.Join("..", program)); err != nil || info.Mode()&0o111 == 0 {
					t.Errorf("%s: %q is no script of the repository: %v", path, step.Run, err)
				}
			}
		}
	}
	lint := []string{"tool", "-modfile=tools/go.mod", "actionlint", "-shellcheck=", "-pyflakes="}
	command := tool(t, append(lint, files...)...)
	command.Env = append(os.Environ(), "GOWORK=off")
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
