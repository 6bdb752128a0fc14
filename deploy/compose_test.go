// Package deploy tests what operators are given: containers, and what watches them.
package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestCompose: every service is hardened alike (nodes of OpenSearch but for their root),
// is published on loopback alone, names files that there are, and images by exact
// versions; nodes are on a network of their own.
func TestCompose(t *testing.T) {
	text, err := os.ReadFile("../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var compose struct {
		Services map[string]struct {
			Image       string
			ReadOnly    bool     `yaml:"read_only"`
			CapDrop     []string `yaml:"cap_drop"`
			SecurityOpt []string `yaml:"security_opt"`
			Restart     string
			Environment map[string]string
			Command     any
			Networks    []string
			Ports       []string
			Volumes     []string
		}
		Networks map[string]struct{ Internal bool }
		Volumes  map[string]any
	}
	if err := yaml.Unmarshal(text, &compose); err != nil {
		t.Fatal(err)
	}
	if len(compose.Services) != 10 {
		t.Errorf("%d services", len(compose.Services))
	}
	taken := map[string]string{} // by port of this machine
	published := regexp.MustCompile(`^(?:([0-9.]+):)?(?:\$\{[A-Z_]+:-)?(\d+)\}?:\d+$`)
	exact := regexp.MustCompile(`^(conclave:(cpu|gpu)|[a-z/]+:v?\d+\.\d+\.\d+)$`)
	for name, s := range compose.Services {
		node := strings.HasPrefix(name, "node-")
		if node && (len(s.Ports) > 0 || !slices.Equal(s.Networks, []string{"nodes"}) || !compose.Networks["nodes"].Internal) {
			t.Errorf("%s has no keys, and can be reached from outside: %+v", name, s)
		}
		if !s.ReadOnly && !node || !slices.Equal(s.CapDrop, []string{"ALL"}) ||
			!slices.Equal(s.SecurityOpt, []string{"no-new-privileges:true"}) ||
			s.Restart == "" {
			t.Errorf("%s is not hardened: %+v", name, s)
		}
		if !exact.MatchString(s.Image) {
			t.Errorf("%s: the image %s is not an exact version", name, s.Image)
		}
		for _, port := range s.Ports {
			at := published.FindStringSubmatch(port)
			if at == nil || at[1] != "127.0.0.1" {
				t.Errorf("%s is published at %s, and asks for keys: %s", name, port, s.Environment["CONCLAVE_AUTH_DISABLED"])
				continue
			}
			if other := taken[at[2]]; other != "" {
				t.Errorf("%s and %s both want the port %s", name, other, at[2])
			}
			taken[at[2]] = name
		}
		for _, volume := range s.Volumes {
			from, _, _ := strings.Cut(volume, ":")
			if !strings.HasPrefix(from, ".") {
				if _, ok := compose.Volumes[from]; !ok {
					t.Errorf("%s: there is no volume %s", name, from)
				}
			} else if _, err := os.Stat(filepath.Join("..", from)); err != nil && from != "./own-corpus" {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	text, err = os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	stages := []string{}
	for _, from := range regexp.MustCompile(`(?m)^FROM (\S+) AS (\S+)`).FindAllStringSubmatch(string(text), -1) {
		if !slices.Contains(stages, from[1]) && !regexp.MustCompile(`:\d+\.\d+(\.\d+)?-`).MatchString(from[1]) {
			t.Errorf("the image %s is not an exact version", from[1])
		}
		stages = append(stages, from[2])
	}
	// The compose program itself, where it is installed.
	for _, program := range [][]string{{"docker-compose"}, {"docker", "compose"}} {
		if exec.Command(program[0], append(program[1:], "version")...).Run() != nil {
			continue
		}
		for _, profile := range []string{"gpu", "own", "own-gpu", "observability", "cluster"} {
			command := exec.Command(program[0], append(program[1:], "--profile", profile, "config", "--quiet")...)
			command.Dir = ".."
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", command, err, out)
			}
		}
		return
	}
	t.Log("neither docker-compose nor docker compose is installed: the file was read as YAML alone")
}

// TestDockerIgnore: what git ignores is not sent to the builder, and everything that the
// program is built of is.
func TestDockerIgnore(t *testing.T) {
	git, err := os.ReadFile("../.gitignore")
	if err != nil {
		t.Fatal(err)
	}
	docker, err := os.ReadFile("../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(docker), "\n")
	for pattern := range strings.Lines(string(git)) {
		pattern = strings.TrimSpace(pattern)
		if pattern == "" || strings.HasPrefix(pattern, "#") {
			continue
		}
		want := strings.Trim(pattern, "/")
		if !strings.HasPrefix(pattern, "/") {
			want = "**/" + want
		}
		if !slices.Contains(lines, want) {
			t.Errorf(".dockerignore has no %s", want)
		}
	}
	packages, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if .Module}}{{if .Module.Main}}{{.ImportPath}}{{end}}{{end}}", "example.org/conclave/cmd/conclave").
		Output()
	if err != nil {
		t.Fatal(err)
	}
	needed := strings.Fields(string(packages))
	if len(needed) < 20 {
		t.Fatalf("the program is built of %v alone", needed)
	}
	for _, name := range needed {
		name = strings.TrimPrefix(name, "conclave/")
		for _, line := range lines {
			if line == name || strings.HasPrefix(name, line+"/") {
				t.Errorf(".dockerignore keeps %s away, of which the program is built", name)
			}
		}
	}
}
