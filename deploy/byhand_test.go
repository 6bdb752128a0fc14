package deploy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/provision"
	"example.org/conclave/internal/testing/testenv"

	"go.yaml.in/yaml/v3"
)

// service holds what docker-compose.yml says of one that is started here.
type service struct {
	Command     []string
	Environment map[string]string
	User        string
	Volumes     []string
	Tmpfs       []string
	ReadOnly    bool `yaml:"read_only"`
	Healthcheck struct{ Test []string }
}

// services returns what a file of compose has, with the variables of an environment, as `docker compose` reads it.
func services(t *testing.T, file string, environment map[string]string) map[string]service {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	variable := regexp.MustCompile(`\$\{([A-Z_]+):-([^}]*)\}`)
	replaced := variable.ReplaceAllStringFunc(string(text), func(s string) string {
		parts := variable.FindStringSubmatch(s)
		return cmp.Or(environment[parts[1]], parts[2])
	})
	var compose struct{ Services map[string]service }
	if err := yaml.Unmarshal([]byte(replaced), &compose); err != nil {
		t.Fatal(err)
	}
	return compose.Services
}

// TestComposeIsReadAsComposeReads compares services with what the program itself says, where it is installed.
func TestComposeIsReadAsComposeReads(t *testing.T) {
	program, err := exec.LookPath("docker-compose")
	if err != nil {
		t.Skip("docker-compose is not installed")
	}
	command := exec.CommandContext(t.Context(), program, "--profile", "own", "--profile", "cluster", "config")
	command.Dir = ".."
	command.Env = append(os.Environ(), "CONCLAVE_USER=1000:1000")
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "compose.yml")
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	// It writes volumes with the whole path and, of most versions, the mode that is meant.
	text := strings.NewReplacer(root+"/", "./", ":rw\n", "\n").Replace(string(out))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := services(t, file, nil)
	got := services(t, "../docker-compose.yml", map[string]string{"CONCLAVE_USER": "1000:1000"})
	for _, name := range []string{"conclave", "own", "clustered", "node-0"} {
		if _, there := want[name]; !there || !reflect.DeepEqual(got[name], want[name]) {
			t.Errorf("%s is read as %+v, and by compose as %+v", name, got[name], want[name])
		}
	}
}

// image holds the root of an image, and what it says that compose does not.
type image struct {
	root, user, folder string
	environment        map[string]string
	mounts             []string // commands that put parts of this machine into the root, at $root
}

// imageByHand returns what the stage cpu of the Dockerfile makes. CONCLAVE_IMAGE names its root; without it the root
// is this machine's system, with the program of this source and what is in the cache.
func imageByHand(t *testing.T) image {
	t.Helper()
	text, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	_, stage, _ := strings.Cut(string(text), " AS cpu\n")
	stage, _, _ = strings.Cut(stage, "\nFROM ")
	said := func(pattern string) string {
		t.Helper()
		found := regexp.MustCompile(pattern).FindStringSubmatch(stage)
		if found == nil {
			t.Fatalf("the stage cpu has no %s", pattern)
		}
		return found[1]
	}
	i := image{
		root: os.Getenv("CONCLAVE_IMAGE"), user: said(`--uid (\d+)`), folder: said(`\nWORKDIR (\S+)`),
		environment: map[string]string{"CONCLAVE_CACHE": said(`\nENV CONCLAVE_CACHE=(\S+)`)},
	}
	if i.root != "" {
		return i
	}
	testenv.Base(t, "int8")
	kept, err := provision.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	i.root = t.TempDir()
	program := filepath.Join(t.TempDir(), "conclave")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../cmd/conclave")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cache := i.environment["CONCLAVE_CACHE"]
	written := []string{cache + "/demo", i.folder + "/data"}
	for _, folder := range append(written, "/dev", "/etc", "/proc", "/tmp", "/usr") {
		if err := os.MkdirAll(filepath.Join(i.root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	i.mounts = []string{
		`mount --rbind /usr "$root/usr"`, `mount --bind /etc "$root/etc"`, `mount --rbind /dev "$root/dev"`,
		`mount -t tmpfs tmpfs "$root/usr/local/bin"`, fmt.Sprintf(`cp %q "$root/usr/local/bin/conclave"`, program),
	}
	for _, name := range []string{"bin", "lib", "lib64", "sbin"} {
		if to, err := os.Readlink("/" + name); err == nil {
			err = os.Symlink(to, filepath.Join(i.root, name))
			if err != nil {
				t.Fatal(err)
			}
		} else if _, err := os.Stat("/" + name); err == nil {
			i.mounts = append(i.mounts, fmt.Sprintf(`mkdir -p "$root/%s" && mount --bind /%[1]s "$root/%[1]s"`, name))
		}
	}
	parts, err := filepath.Glob(filepath.Join(kept.Root, "onnxruntime-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range append(parts, filepath.Join(kept.Root, "bundles")) {
		name := filepath.Base(part)
		i.mounts = append(i.mounts, fmt.Sprintf(`mkdir -p "$root%s/%s" && mount --bind %q "$root%[1]s/%[2]s"`, cache, name, part))
	}
	return i
}

// contained returns the script that starts a service of an image as compose would: with the service's own names of
// mounts, processes and network, a read-only root, no capabilities, its environment, and folders for its volumes. It
// runs the commands before to their ends, starts the service, asks question until it is healthy, prints the answer,
// and ends the service.
func (i image) contained(s service, user string, before [][]string, question string, folders map[string]string) string {
	lines := []string{
		"set -euo pipefail", fmt.Sprintf("root=%q", i.root), "ip link set lo up", `mount --bind "$root" "$root"`,
	}
	lines = append(lines, i.mounts...)
	lines = append(lines, `mount -t proc proc "$root/proc"`)
	for _, folder := range s.Tmpfs {
		lines = append(lines, fmt.Sprintf(`mount -t tmpfs -o mode=1777 tmpfs "$root%s"`, folder))
	}
	for _, volume := range s.Volumes {
		parts := strings.Split(volume, ":")
		lines = append(lines,
			fmt.Sprintf(`if [ -d %q ]; then mkdir -p "$root%s"; else touch "$root%[2]s"; fi`, folders[parts[0]], parts[1]),
			fmt.Sprintf(`mount --bind %q "$root%s"`, folders[parts[0]], parts[1]))
		if slices.Contains(parts[2:], "ro") {
			lines = append(lines, fmt.Sprintf(`mount -o remount,bind,ro "$root%s"`, parts[1]))
		}
	}
	if s.ReadOnly {
		lines = append(lines, `mount -o remount,bind,ro "$root"`,
			`! chroot "$root" touch /written 2>/dev/null || { echo "the root can be written" >&2; exit 1; }`)
	}
	environment := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + i.folder}
	for _, more := range []map[string]string{i.environment, s.Environment} {
		for name, value := range more {
			environment = append(environment, fmt.Sprintf("%s=%q", name, value))
		}
	}
	uid, gid, _ := strings.Cut(user, ":")
	gid = cmp.Or(gid, uid)
	lines = append(lines,
		fmt.Sprintf(`as() { exec chroot "$root" env --chdir=%q -i %s setpriv --reuid %s --regid %s --clear-groups \
  --no-new-privs --inh-caps=-all --bounding-set=-all "$@"; }`, i.folder, strings.Join(environment, " "), uid, gid))
	for _, command := range before {
		lines = append(lines, fmt.Sprintf("(as conclave %s) >&2", strings.Join(command, " ")))
	}
	health := []string{"conclave", "healthcheck"} // of the image
	if len(s.Healthcheck.Test) > 1 {
		health = s.Healthcheck.Test[1:]
	}
	lines = append(lines,
		fmt.Sprintf("(as conclave %s) >&2 & server=$!", strings.Join(s.Command, " ")),
		fmt.Sprintf(`for _ in $(seq 3000); do ! (as %s) >/dev/null 2>&1 || break; kill -0 $server; sleep 0.2; done`,
			strings.Join(health, " ")),
		`ask() { curl --silent --show-error --fail --retry 30 --get "$@"; }`,
		fmt.Sprintf(`ask --data-urlencode %q 'http://127.0.0.1:8080/v1/search?k=1'`, "q="+question),
		"kill $server", "wait $server",
	)
	return strings.Join(lines, "\n") + "\n"
}

// TestComposeByHand takes the steps of `docker compose up` of the demo, and of "own" as docs/operations.md has them,
// without Docker: each command with its environment, its volumes as folders, a read-only root, without capabilities and
// without any network; the demo as a user that the image does not know, and "own" as the one who alone may read the
// corpus.
func TestComposeByHand(t *testing.T) {
	if testing.Short() {
		t.Skip("indexes the demo")
	}
	if os.Getuid() != 0 {
		t.Skip("root is needed to change roots")
	}
	for _, tool := range []string{"unshare", "setpriv", "chroot", "curl", "ip"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	i := imageByHand(t)
	own := t.TempDir()
	text := "# Umbrellas\n\nAn umbrella that was left in the tram is kept at the depot for six weeks.\n"
	if err := os.WriteFile(filepath.Join(own, "umbrellas.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{own, filepath.Join(own, "umbrellas.md")} {
		if err := os.Chown(path, 1000, 1000); err != nil {
			t.Fatal(err)
		}
	}
	configuration, err := filepath.Abs("conclave.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := services(t, "../docker-compose.yml", map[string]string{"CONCLAVE_USER": "1000:1000"})
	for _, c := range []struct {
		service, user  string
		before         [][]string
		question, want string
	}{
		{"conclave", "12345", nil, "how do I stop a nosebleed", "Nosebleeds"},
		{"own", all["own"].User, [][]string{{"index", "--in", "/corpus"}}, "where is my umbrella", "depot"},
	} {
		t.Run(c.service, func(t *testing.T) {
			s := all[c.service]
			folders := map[string]string{"./own-corpus": own, "./deploy/conclave.yaml": configuration}
			for _, volume := range s.Volumes {
				if name, _, _ := strings.Cut(volume, ":"); !strings.HasPrefix(name, ".") {
					folders[name] = t.TempDir() // a new volume has the mode of the image's folder
					if err := os.Chmod(folders[name], 0o1777); err != nil {
						t.Fatal(err)
					}
				}
			}
			script := filepath.Join(t.TempDir(), "contained")
			if err := os.WriteFile(script, []byte(i.contained(s, c.user, c.before, c.question, folders)), 0o600); err != nil {
				t.Fatal(err)
			}
			apart := []string{"--mount", "--net", "--pid", "--fork", "--kill-child", "bash", script}
			command := exec.CommandContext(t.Context(), "unshare", apart...)
			var log testenv.Buffer
			command.Stderr = &log
			out, err := command.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, log.String())
			}
			var answer struct {
				Results []struct{ Title, Text string }
			}
			if err := json.Unmarshal(out, &answer); err != nil || len(answer.Results) != 1 ||
				!strings.Contains(answer.Results[0].Title+answer.Results[0].Text, c.want) {
				t.Errorf("%v: %s\n%s", err, out, log.String())
			}
		})
	}
}
