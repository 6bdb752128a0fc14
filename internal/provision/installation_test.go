package provision

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
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
	if got := FindInstallation(program); got != (Installation{}) {
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
