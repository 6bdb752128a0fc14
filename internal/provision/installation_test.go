package provision

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestFindInstallation looks for what lies beside the program in folders as an unpacked archive and as pip
// make them, and beside a program that was built alone.
func TestFindInstallation(t *testing.T) {
	at := t.TempDir()
	file := func(parts ...string) string {
		path := filepath.Join(append([]string{at}, parts...)...)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	library := filepath.Base(Cache{}.Library())
	unpacked := Installation{
		Kind:       Unpacked,
		Runtime:    file("conclave-1", "share", "conclave", "onnxruntime-"+RuntimeVersion, library),
		Checkpoint: filepath.Dir(file("conclave-1", "share", "conclave", "checkpoints", BaseCheckpoint, "vocab.txt")),
	}
	program := file("conclave-1", "bin", "conclave")
	if got := FindInstallation(program); got != unpacked {
		t.Errorf("unpacked: %+v, not %+v", got, unpacked)
	}
	link := filepath.Join(at, "link")
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	if got := FindInstallation(link); got != unpacked {
		t.Errorf("by a link: %+v", got)
	}
	if got := FindInstallation(file("alone", "bin", "conclave")); got != (Installation{}) {
		t.Errorf("alone: %+v", got)
	}
	file("site-packages", "conclave", "__init__.py")
	program = file("site-packages", "conclave", "bin", "conclave")
	if got := FindInstallation(program); got != (Installation{Kind: ByPip}) {
		t.Errorf("pip without a runtime: %+v", got)
	}
	before, after := "libonnxruntime.so.", ""
	if runtime.GOOS == "darwin" {
		before, after = "libonnxruntime.", ".dylib"
	}
	file("site-packages", "onnxruntime", "capi", before+"1.23.2"+after)
	if got := FindInstallation(program); got.Runtime != "" {
		t.Errorf("too old a runtime was taken: %+v", got)
	}
	installed := Installation{
		Kind:       ByPip,
		Runtime:    file("site-packages", "onnxruntime", "capi", before+"1.40.0"+after),
		Checkpoint: filepath.Dir(file("site-packages", "conclave_models", "checkpoints", BaseCheckpoint, "vocab.txt")),
	}
	if got := FindInstallation(program); got != installed {
		t.Errorf("pip: %+v, not %+v", got, installed)
	}

	// A runtime of another release is what pip has verified; one of the pinned release has the pinned bytes, or
	// the cache is asked.
	cache := Cache{Root: t.TempDir(), Installed: installed}
	nobody := Pip{Python: filepath.Join(at, "no-python")}
	step, err := cache.EnsureRuntime(context.Background(), "cpu", nobody)
	if err != nil || step.Path != installed.Runtime || step.Fetched {
		t.Errorf("%+v, %v", step, err)
	}
	if got, err := cache.VerifyRuntime("cpu"); err != nil || got != installed.Runtime {
		t.Errorf("%s, %v", got, err)
	}
	cache.Installed = unpacked
	if _, err := cache.EnsureRuntime(context.Background(), "cpu", nobody); err == nil {
		t.Error("an empty library was taken for the pinned one")
	}
	if _, err := cache.EnsureBase(context.Background(), nobody); err == nil {
		t.Error("an empty vocabulary was taken for the weights")
	}
}

// TestLacks: of a program that was built alone nothing is missed, of an archive and of a wheel what was taken away or
// changed.
func TestLacks(t *testing.T) {
	damaged := filepath.Join(t.TempDir(), filepath.Base(Cache{}.Library()))
	if err := os.WriteFile(damaged, []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	library := "onnxruntime-" + RuntimeVersion + " of the archive"
	for _, c := range []struct {
		installed Installation
		want      []string
	}{
		{Installation{}, nil},
		{Installation{Kind: Unpacked}, []string{library, "checkpoints of the archive"}},
		{Installation{Kind: ByPip}, []string{"package onnxruntime", "package conclave-models"}},
		{Installation{Kind: ByPip, Runtime: "libonnxruntime.so.1.40.0"}, []string{"package conclave-models"}},
		{Installation{Kind: Unpacked, Runtime: damaged}, []string{"is damaged: " + damaged, "checkpoints of the archive"}},
	} {
		got := Cache{Installed: c.installed}.Lacks()
		if len(got) != len(c.want) {
			t.Errorf("%+v lacks %q", c.installed, got)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%+v: %q, not %q", c.installed, got[i], want)
			}
		}
	}
}
