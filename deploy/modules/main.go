// Command modules writes the modules of this repository, the program's and the Go client's, in the layout of a
// module proxy, with the files that git knows as they are now. go.mod says which version of the client the
// program needs; both get it.
//
//	go run ./deploy/modules out/modules
//	GOPROXY=file://$PWD/out/modules,$(go env GOPROXY) GONOSUMDB=$(go list) go install $(go list)/cmd/conclave@latest
//
// Whoever has no network but a cache of modules gives that folder next: file://$(go env GOMODCACHE)/cache/download.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// main writes the modules of the working directory into the folder that the command line names, and prints their
// versions.
func main() {
	if len(os.Args) != 2 {
		_, _ = fmt.Fprintln(os.Stderr, "usage: modules FOLDER")
		os.Exit(2)
	}
	written, err := writeModules(".", os.Args[1])
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "modules:", err)
		os.Exit(1)
	}
	for _, m := range written {
		_, _ = fmt.Println(m)
	}
}

// clientFolder is where the Go client lies, which has a go.mod of its own.
const clientFolder = "client/go"

// writeModules writes both modules of the checkout root, the program and the Go client, into folder as a module proxy
// serves them, and returns them, the program first. Both get the version of the client that go.mod requires. After an
// error a part is left.
func writeModules(root, folder string) ([]module.Version, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	version, err := clientVersion(text)
	if err != nil {
		return nil, err
	}
	program := module.Version{Path: modfile.ModulePath(text), Version: version}
	client := module.Version{Path: program.Path + "/" + clientFolder, Version: version}
	for _, m := range []struct {
		module.Version
		folder string
	}{{program, root}, {client, filepath.Join(root, clientFolder)}} {
		if err := writeModule(m.Version, m.folder, folder); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Path, err)
		}
	}
	return []module.Version{program, client}, nil
}

// clientVersion returns the version of the Go client that a go.mod requires. It fails if there is none, or if the
// go.mod has replace or exclude, with which go install refuses a module.
func clientVersion(goMod []byte) (string, error) {
	file, err := modfile.Parse("go.mod", goMod, nil)
	if err != nil {
		return "", err
	}
	if len(file.Replace) > 0 || len(file.Exclude) > 0 {
		return "", errors.New("go.mod has replace or exclude, with which go install refuses the module: they stand in go.work")
	}
	for _, r := range file.Require {
		if r.Mod.Path == file.Module.Mod.Path+"/"+clientFolder {
			return r.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("go.mod does not require %s/%s", file.Module.Mod.Path, clientFolder)
}

// writeModule writes the files of a module version, VERSION.info, .mod, .zip and list, into a folder laid out as a
// module proxy. source is the folder of the module's files. After an error some of these are missing.
func writeModule(m module.Version, source, folder string) error {
	files, err := filesOf(source)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	if err := zip.Create(&packed, m, files); err != nil {
		return err
	}
	goMod, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return err
	}
	info, err := json.Marshal(map[string]string{"Version": m.Version, "Time": "2000-01-01T00:00:00Z"})
	if err != nil {
		return err
	}
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	at := filepath.Join(folder, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"list":              []byte(m.Version + "\n"),
		m.Version + ".info": info,
		m.Version + ".mod":  goMod,
		m.Version + ".zip":  packed.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(at, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// file holds a file of a module by its path in it.
type file struct{ name, path string }

// Path returns the slash-separated path of the file in the module.
func (f file) Path() string { return f.name }

// Lstat returns the information of the file on the disk. The error is that of os.Lstat.
func (f file) Lstat() (os.FileInfo, error) { return os.Lstat(f.path) }

// Open opens the file on the disk. The error is that of os.Open.
func (f file) Open() (io.ReadCloser, error) { return os.Open(f.path) }

// filesOf returns the regular files of a module that git tracks and that are on disk. It leaves out folders with a
// go.mod of their own, which are other modules. It fails if folder is not in a git checkout.
func filesOf(folder string) ([]zip.File, error) {
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = folder
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files in %s: %w", folder, err)
	}
	names := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	others := map[string]bool{}
	for _, name := range names {
		if path.Base(name) == "go.mod" && name != "go.mod" {
			others[path.Dir(name)] = true
		}
	}
	var files []zip.File
	for _, name := range names {
		at := filepath.Join(folder, filepath.FromSlash(name))
		info, err := os.Lstat(at)
		if errors.Is(err, os.ErrNotExist) {
			continue // removed, and not yet committed
		} else if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() && !isWithin(name, others) {
			files = append(files, file{name, at})
		}
	}
	return files, nil
}

// isWithin reports whether a path lies in one of the folders.
func isWithin(name string, folders map[string]bool) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if folders[dir] {
			return true
		}
	}
	return false
}
