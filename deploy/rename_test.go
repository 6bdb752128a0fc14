package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRenameModule renames the module in a copy of what git knows of this repository: no file
// names the old path, and Go finds every import of the renamed packages.
func TestRenameModule(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	listed := exec.Command("git", "ls-files", "-z")
	listed.Dir = root
	names, err := listed.Output()
	if err != nil {
		t.Skip("this is no checkout of git")
	}
	folder := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // removed, and not yet committed
		}
		path := filepath.Join(folder, name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if err == nil {
			err = os.WriteFile(path, data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = folder
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	old, err := run("go", "list", "-m")
	if err != nil {
		t.Fatal(old)
	}
	old, _, _ = strings.Cut(old, "\n") // the second is the client's
	const script = "./deploy/rename-module"
	for _, bad := range []string{"conclave", "github.com/a b", "github.com//x", ""} {
		if out, err := run(script, bad); err == nil {
			t.Errorf("%q was taken: %s", bad, out)
		}
	}
	other := filepath.Join(folder, "other.txt")
	if err := os.WriteFile(other, []byte(old+"-lookalike "+old+"/search\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const renamed = "github.com/somebody/fork.of-conclave"
	for range 2 { // the second time there is nothing to do
		if out, err := run(script, renamed); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != old+"-lookalike "+renamed+"/search\n" {
		t.Errorf("%s, %v", text, err)
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	if left, _ := run("grep", "-rlIF", old, "."); left != "" {
		t.Errorf("these files name %s still:\n%s", old, left)
	}
	if out, err := run("go", "list", "-deps", "./..."); err != nil || !strings.Contains(out, renamed+"/search\n") || !strings.Contains(out, renamed+"/client/go\n") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := run("go", "-C", "client/go", "list"); err != nil || out != renamed+"/client/go\n" {
		t.Errorf("the client is %s, %v", out, err)
	}
}
