package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/provision"
	"example.org/conclave/internal/testing/realclients"
)

// made makes the archive and the wheels of a program of a few bytes, with an installation of a few bytes.
func made(t *testing.T) (r Release) {
	t.Helper()
	r = Release{
		Version: "1.2.3", Time: time.Unix(1_700_000_000, 0).UTC(), Source: filepath.Join("..", ".."),
		Parts: t.TempDir(), Out: t.TempDir(), Level: flate.BestCompression,
	}
	installed := t.TempDir()
	files := map[string]string{
		"linux-amd64/conclave":             "#!/bin/sh\necho \"$0\" \"$@\"\n",
		"linux-amd64/conclave.cdx.json":    "{}",
		"linux-amd64/licences/go/LICENSE":  "Go's",
		"completions/bash":                 "complete",
		"completions/zsh":                  "compdef",
		"completions/fish":                 "complete -c conclave",
		"linux-amd64/licences/m/a/LICENSE": "theirs",
	}
	for name, text := range files {
		write(t, filepath.Join(r.Parts, filepath.FromSlash(name)), text)
	}
	cache := provision.Cache{Root: installed}
	write(t, cache.Library(), "library")
	write(t, filepath.Join(cache.Checkpoint(provision.BaseCheckpoint), "vocab.txt"), "[PAD]\n")
	parts := filepath.Join(r.Parts, "linux-amd64")
	err := errors.Join(
		r.Archive(parts, "linux-amd64", installed),
		r.Wheel(parts, "manylinux_2_28_x86_64"),
		r.Models(installed),
		r.writeNotes(),
	)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writeSums(r.Out); err != nil {
		t.Fatal(err)
	}
	return r
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// TestReleaseTwice: equal inputs in other folders, written at other times, give equal bytes, and sha256sum agrees
// with the sums.
func TestReleaseTwice(t *testing.T) {
	first := made(t)
	second := made(t)
	entries, err := os.ReadDir(first.Out)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		one, err := os.ReadFile(filepath.Join(first.Out, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		other, err := os.ReadFile(filepath.Join(second.Out, e.Name()))
		if err != nil || !bytes.Equal(one, other) {
			t.Errorf("%s is not the same when it is made again: %v", e.Name(), err)
		}
	}
	want := []string{
		"NOTES.md", "SHA256SUMS", "conclave-1.2.3-linux-amd64.tar.gz",
		"conclave_models-" + provision.BaseVersion() + "-py3-none-any.whl",
		"conclave_server-1.2.3-py3-none-manylinux_2_28_x86_64.whl",
	}
	if !slices.Equal(names, want) {
		t.Errorf("%v was written", names)
	}
	if _, err := exec.LookPath("sha256sum"); err == nil {
		check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
		check.Dir = first.Out
		if out, err := check.CombinedOutput(); err != nil || bytes.Count(out, []byte(": OK")) != len(want)-1 {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// TestArchive: an archive has one folder, in it the program and all that was installed, whose programs alone may
// be run.
func TestArchive(t *testing.T) {
	r := made(t)
	packed, err := os.Open(filepath.Join(r.Out, "conclave-1.2.3-linux-amd64.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = packed.Close() }()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]int64{}
	for archive := tar.NewReader(unpacked); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name, below := strings.CutPrefix(header.Name, "conclave-1.2.3-linux-amd64/")
		if !below || header.Uid != 0 || header.Uname != "" || !header.ModTime.Equal(r.Time) {
			t.Errorf("%+v", header)
		}
		modes[name] = header.Mode
	}
	for name, mode := range modes {
		if (mode == 0o755) != (name == "bin/conclave") || mode != 0o755 && mode != 0o644 {
			t.Errorf("%s has mode %o", name, mode)
		}
	}
	for _, name := range []string{
		"bin/conclave", "lib/systemd/system/conclave.service",
		"share/conclave/onnxruntime-" + provision.RuntimeVersion + "/" + filepath.Base(provision.Cache{}.Library()),
		"share/conclave/checkpoints/" + provision.BaseCheckpoint + "/vocab.txt",
		"share/doc/conclave/licences/m/a/LICENSE", "share/doc/conclave/docs/quickstart.md", "share/doc/conclave/NOTICE",
		"share/zsh/site-functions/_conclave",
	} {
		if modes[name] == 0 {
			t.Errorf("there is no %s", name)
		}
	}
}

// TestWheel reads a wheel with Go's reader, and its record with sums of its own; pip installs it and the program is
// run by the name conclave and by python -m, with the arguments as they are.
func TestWheel(t *testing.T) {
	r := made(t)
	path := filepath.Join(r.Out, "conclave_server-1.2.3-py3-none-manylinux_2_28_x86_64.whl")
	wheel, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = wheel.Close() }()
	record, err := wheel.Open("conclave_server-1.2.3.dist-info/RECORD")
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := io.ReadAll(record)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range wheel.File {
		in, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		line := file.Name + ",sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]) + ","
		if !strings.HasSuffix(file.Name, "/RECORD") && !strings.Contains(string(recorded), line) {
			t.Errorf("%s is not recorded", file.Name)
		}
	}

	python := realclients.Python(t)
	environment := t.TempDir()
	command := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	command(python, "-m", "venv", "--without-pip", environment)
	inside := filepath.Join(environment, "bin", "python")
	command(python, "-m", "pip", "--python", inside, "install", "--quiet", "--no-index", "--no-deps",
		"--disable-pip-version-check", path)
	program := command(inside, "-c", "import conclave_server; print(conclave_server.PROGRAM, end='')")
	want := program + " search a question\n"
	if got := command(filepath.Join(environment, "bin", "conclave"), "search", "a question"); got != want {
		t.Errorf("%q, not %q", got, want)
	}
	if got := command(inside, "-m", "conclave_server", "search", "a question"); got != want {
		t.Errorf("%q, not %q", got, want)
	}
	if _, err := os.Stat(filepath.Join(environment, "share", "bash-completion", "completions", "conclave")); err != nil {
		t.Error(err)
	}
	if got := provision.FindInstallation(program); got != (provision.Installation{Kind: provision.ByPip}) {
		t.Errorf("found %+v where there is nothing", got)
	}
	command(python, "-m", "pip", "--python", inside, "install", "--quiet", "--no-index", "--no-deps",
		"--disable-pip-version-check", filepath.Join(r.Out, "conclave_models-"+provision.BaseVersion()+"-py3-none-any.whl"))
	if got := provision.FindInstallation(program); !strings.Contains(got.Checkpoint, "conclave_models") {
		t.Errorf("the installed weights are not found: %+v", got)
	}
	realclients.Run(t, realclients.Command{Interpreter: python, Dir: "python", Args: []string{
		"-m", "ruff", "check", "--no-cache", "--quiet", "--line-length", "120", ".",
	}})
}

// TestPythonVersion compares with what PEP 440 calls for.
func TestPythonVersion(t *testing.T) {
	for version, want := range map[string]string{
		"1.2.3":                     "1.2.3",
		"1.2.3-rc.1":                "1.2.3rc1",
		"1.2.3-14-gabcdef0":         "1.2.3.post14+gabcdef0",
		"1.2.3-14-gabcdef0-dirty":   "1.2.3.post14+gabcdef0.dirty",
		"1.2.3-dirty":               "1.2.3+dirty",
		"0123abc":                   "0.0.0.dev0+g0123abc",
		"0123abc-dirty":             "0.0.0.dev0+g0123abc.dirty",
		"unknown":                   "",
		"1.2":                       "",
		"1.2.3 && rm":               "",
		"1.2.3-beta":                "",
		"../1.2.3":                  "",
		"1.2.3-14-gabcdef0-changed": "",
	} {
		if got, err := PythonVersion(version); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
}

func TestNotes(t *testing.T) {
	const changelog = "# Changelog\n\nAll changes.\n\n## Unreleased\n\n- new\n\n## [1.1.0] 2026-01-01\n\n**Room**\n\n- old\n"
	for version, want := range map[string]string{
		"1.1.0": "# conclave 1.1.0\n\n**Room**\n\n- old\n",
		"1.2.0": "# conclave 1.2.0\n\n- new\n",
	} {
		if got, err := Notes(changelog, version); got != want || err != nil {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
	if got, err := Notes("# Changelog\n", "1.1.0"); err == nil {
		t.Errorf("notes of nothing: %q", got)
	}
}

// TestArchiveForMacOS: the archive for macOS has the library of that system and no unit of systemd, and its wheel the
// tag by which pip chooses it there. Neither is run.
func TestArchiveForMacOS(t *testing.T) {
	r := made(t)
	installed := t.TempDir()
	library := "onnxruntime-" + provision.RuntimeVersion + "/libonnxruntime." + provision.RuntimeVersion + ".dylib"
	write(t, filepath.Join(installed, filepath.FromSlash(library)), "library")
	parts := filepath.Join(r.Parts, "linux-amd64") // any program
	if err := errors.Join(r.Archive(parts, "darwin-arm64", installed), r.Wheel(parts, "macosx_14_0_arm64")); err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(filepath.Join(r.Out, "conclave-1.2.3-darwin-arm64.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for archive := tar.NewReader(unpacked); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		names[strings.TrimPrefix(header.Name, "conclave-1.2.3-darwin-arm64/")] = true
	}
	if !names["share/conclave/"+library] || !names["bin/conclave"] || names["lib/systemd/system/conclave.service"] {
		t.Errorf("the archive has %v", names)
	}
	if _, err := os.Stat(filepath.Join(r.Out, "conclave_server-1.2.3-py3-none-macosx_14_0_arm64.whl")); err != nil {
		t.Error(err)
	}
}
