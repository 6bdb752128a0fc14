package main

import (
	"archive/zip"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"example.org/conclave/internal/provision"
)

// Wheel writes the wheel conclave-server for a platform, with the program and the licences in the folder parts, the
// Python package that starts the program, and the client for Python. tag is the platform's in the wheel's name. The
// wheel requires onnxruntime; the weights and the training are extras. It fails if a file is missing, or the version
// has no form in PEP 440.
func (r *Release) Wheel(parts, tag string) error {
	source := filepath.Join(r.Source, "deploy", "release", "python")
	client := filepath.Join(r.Source, "client", "python", "src", "conclave_client")
	content := Content{"conclave_server/bin/conclave": {Path: filepath.Join(parts, "conclave"), Program: true}}
	data := Content{}
	notPython := func(name string) bool {
		return strings.HasSuffix(name, ".pyc") || strings.Contains(name, ".egg-info/")
	}
	err := errors.Join(
		content.AddFolder("conclave_server", filepath.Join(source, "conclave_server"), notPython),
		content.AddFolder("conclave_client", client, notPython), r.addCompletions(data),
	)
	if err != nil {
		return err
	}
	version, err := PythonVersion(r.Version)
	if err != nil {
		return err
	}
	for name, file := range data {
		content["conclave_server-"+version+".data/data/"+name] = file
	}
	train, err := versionOf(filepath.Join(r.Source, "training", "pyproject.toml"))
	if err != nil {
		return err
	}
	readme, err := os.ReadFile(filepath.Join(source, "README.md"))
	if err != nil {
		return err
	}
	metadata := strings.Join([]string{
		"Metadata-Version: 2.1",
		"Name: conclave-server",
		"Version: " + version,
		"Summary: Finds the passages that answer a question, in your own texts, on your own machine.",
		"License: Apache-2.0",
		"Requires-Python: >=3.11",
		"Requires-Dist: httpx>=0.27",
		"Requires-Dist: onnxruntime<2,>=" + provision.RuntimeVersion,
		"Provides-Extra: models",
		"Requires-Dist: conclave-models==" + provision.BaseVersion() + "; extra == 'models'",
		"Provides-Extra: train",
		"Requires-Dist: conclave-train==" + train + "; extra == 'train'",
		"Provides-Extra: vectors",
		"Requires-Dist: numpy>=1.26; extra == 'vectors'",
		"Provides-Extra: pandas",
		"Requires-Dist: pandas>=2; extra == 'pandas'",
		"Description-Content-Type: text/markdown",
		"", string(readme),
	}, "\n")
	licences := "conclave_server-" + version + ".dist-info/licenses"
	if err := content.AddFolder(licences, filepath.Join(parts, "licences"), nil); err != nil {
		return err
	}
	for _, name := range []string{"LICENSE", "NOTICE"} {
		content[licences+"/"+name] = ArchiveFile{Path: filepath.Join(r.Source, name)}
	}
	about := distribution{
		Name: "conclave_server", Version: version, Tag: "py3-none-" + tag, Metadata: metadata,
		Scripts: "[console_scripts]\nconclave = conclave_server.__main__:main\n",
	}
	return r.write(about.fileName(), func(out io.Writer) error { return about.write(out, content, r.Time, r.Level) })
}

// Models writes the wheel conclave-models with the weights of the base encoder, as they are in the cache folder
// installed. It fails if the folder has no weights.
func (r *Release) Models(installed string) error {
	cache := provision.Cache{Root: "conclave_models"}
	content := Content{"conclave_models/__init__.py": {
		Text: []byte("\"\"\"The weights of the base encoder of conclave, which its program finds.\"\"\"\n"),
	}}
	folder := provision.Cache{Root: installed}.Checkpoint(provision.BaseCheckpoint)
	if err := content.AddFolder(cache.Checkpoint(provision.BaseCheckpoint), folder, nil); err != nil {
		return err
	}
	about := distribution{
		Name: "conclave_models", Version: provision.BaseVersion(), Tag: "py3-none-any",
		Metadata: "Metadata-Version: 2.1\nName: conclave-models\nVersion: " + provision.BaseVersion() +
			"\nSummary: The weights of all-MiniLM-L6-v2, the base encoder of conclave.\nLicense: Apache-2.0\n",
	}
	return r.write(about.fileName(), func(out io.Writer) error { return about.write(out, content, r.Time, r.Level) })
}

// distribution holds what a wheel says of itself.
type distribution struct {
	Name, Version, Tag string
	Metadata, Scripts  string
}

// fileName returns the name of the wheel by PEP 427: NAME-VERSION-TAG.whl.
func (d distribution) fileName() string { return d.Name + "-" + d.Version + "-" + d.Tag + ".whl" }

// write writes a wheel with the content (PEP 427), to which it adds METADATA, WHEEL and entry_points.txt: it changes
// the map. at is the time of all files. The bytes depend on content, metadata, at and the level of compression alone.
// It fails if a file of content cannot be read; out then has a part.
func (d distribution) write(out io.Writer, content Content, at time.Time, level int) error {
	info := d.Name + "-" + d.Version + ".dist-info/"
	content[info+"METADATA"] = ArchiveFile{Text: []byte(d.Metadata)}
	content[info+"WHEEL"] = ArchiveFile{Text: []byte("Wheel-Version: 1.0\nGenerator: conclave\nRoot-Is-Purelib: " +
		map[bool]string{true: "true", false: "false"}[strings.HasSuffix(d.Tag, "-any")] + "\nTag: " + d.Tag + "\n")}
	if d.Scripts != "" {
		content[info+"entry_points.txt"] = ArchiveFile{Text: []byte(d.Scripts)}
	}
	archive := zip.NewWriter(out)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, level)
	})
	var record strings.Builder
	for _, name := range content.sortedNames() {
		sum, size, err := addToWheel(archive, name, content[name], at)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		_, _ = fmt.Fprintf(&record, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum), size)
	}
	record.WriteString(info + "RECORD,,\n")
	_, _, err := addToWheel(archive, info+"RECORD", ArchiveFile{Text: []byte(record.String())}, at)
	return errors.Join(err, archive.Close())
}

// addToWheel adds a file under a name, with the time at as its time of change, and returns its SHA-256 and its size
// in bytes. It fails if the file cannot be read.
func addToWheel(archive *zip.Writer, name string, file ArchiveFile, at time.Time) (sum []byte, size int64, err error) {
	in, size, err := file.open()
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = in.Close() }()
	header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at}
	header.SetMode(os.FileMode(file.mode()))
	w, err := archive.CreateHeader(header)
	if err != nil {
		return nil, 0, err
	}
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(w, hash), in)
	return hash.Sum(nil), size, err
}

// described takes apart what git describes: a tag, and how many commits later which commit was built.
var described = regexp.MustCompile(`^(\d+\.\d+\.\d+)(?:-(a|b|rc)\.?(\d+))?(?:-(\d+)-g([0-9a-f]+))?(-dirty)?$`)

// PythonVersion returns a version of git describe, such as 1.2.3-rc.1 or 1.2.3-4-g0123abc, in the form of PEP 440. A
// commit without a tag becomes a version before every release. It fails for any other text.
func PythonVersion(version string) (string, error) {
	if regexp.MustCompile(`^[0-9a-f]{7,40}(-dirty)?$`).MatchString(version) {
		return "0.0.0.dev0+g" + strings.Replace(version, "-", ".", 1), nil
	}
	found := described.FindStringSubmatch(version)
	if found == nil {
		return "", fmt.Errorf("the version %q is no version such as 1.2.3, 1.2.3-rc.1 or what git describes", version)
	}
	out := found[1] + found[2] + found[3]
	local := ""
	if found[4] != "" {
		out, local = out+".post"+found[4], "+g"+found[5]
	}
	if found[6] != "" {
		local = strings.TrimPrefix(local+".dirty", ".")
		if found[4] == "" {
			local = "+dirty"
		}
	}
	return out + local, nil
}

// versionOf returns the version in the pyproject.toml at path. It fails if there is none.
func versionOf(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	found := regexp.MustCompile(`(?m)^version = "([^"]+)"$`).FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("%s states no version", path)
	}
	return string(found[1]), nil
}
