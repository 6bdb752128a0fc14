// Command release puts together what is published: for each platform an archive that starts without any
// network and a wheel for pip, beside them the wheel of the weights, bills of materials, notes from the
// changelog, and SHA-256 sums. Equal inputs give equal bytes. deploy/release/make compiles the programs and
// calls it.
//
//	go run ./deploy/release -version 1.2.3 -epoch 1700000000 -parts parts -out out/release
package main

import (
	"compress/flate"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.org/conclave/internal/provision"
)

// main makes a release as the command line says.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// Release holds what is put together, and of what.
type Release struct {
	Version string    // of semantic versioning, without v
	Time    time.Time // of every file
	Source  string    // folder of the source
	Parts   string    // folder of what was compiled: OS-ARCH/conclave, OS-ARCH/conclave.cdx.json, completions/SHELL
	Out     string
	Level   int // of compression, as compress/flate has them
}

// platforms lists what is released, with the tags by which pip chooses.
var platforms = []struct{ OS, Arch, Tag string }{
	{"linux", "amd64", "manylinux_2_28_x86_64"},
	{"linux", "arm64", "manylinux_2_28_aarch64"},
	{"darwin", "arm64", "macosx_14_0_arm64"},
}

// run makes a release as the command line args says, and writes to out what it made. It fails without -version,
// -parts or -out.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	r := Release{Level: flate.BestCompression}
	flags.StringVar(&r.Version, "version", "", "version, as git describes it")
	flags.StringVar(&r.Source, "source", ".", "folder of the source")
	flags.StringVar(&r.Parts, "parts", "", "folder of what was compiled")
	flags.StringVar(&r.Out, "out", "", "folder that is written")
	epoch := flags.Int64("epoch", 0, "time of every file, in seconds since 1970")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if r.Version == "" || r.Parts == "" || r.Out == "" {
		return errors.New("version, parts and out are needed")
	}
	r.Version = strings.TrimPrefix(r.Version, "v")
	r.Time = time.Unix(*epoch, 0).UTC()
	cache, err := provision.DefaultCache()
	if err != nil {
		return err
	}
	return r.Make(ctx, cache, out)
}

// Make writes archives, wheels, bills of materials, the notes and checksums into r.Out, for the platforms of which
// r.Parts has a program, and says on out what it wrote and which platforms it left out. It fails if there is no
// program at all. After an error, finished files stay.
func (r *Release) Make(ctx context.Context, cache provision.Cache, out io.Writer) error {
	if err := os.MkdirAll(r.Out, 0o755); err != nil {
		return err
	}
	pip := provision.Pip{Python: "python3", Log: out}
	made := 0
	for _, p := range platforms {
		parts := filepath.Join(r.Parts, p.OS+"-"+p.Arch)
		if _, err := os.Stat(filepath.Join(parts, "conclave")); errors.Is(err, os.ErrNotExist) {
			_, _ = fmt.Fprintf(out, "NOT MADE for %s/%s: there is no program in %s\n", p.OS, p.Arch, parts)
			continue
		}
		installed, err := os.MkdirTemp("", "conclave-release-")
		if err != nil {
			return err
		}
		err = cache.Install(ctx, p.OS, p.Arch, installed, pip)
		if err == nil {
			err = errors.Join(r.Archive(parts, p.OS+"-"+p.Arch, installed), r.Wheel(parts, p.Tag))
		}
		if err == nil && made == 0 {
			err = r.Models(installed)
		}
		err = errors.Join(err, os.RemoveAll(installed))
		if err != nil {
			return fmt.Errorf("%s/%s: %w", p.OS, p.Arch, err)
		}
		bill, err := os.ReadFile(filepath.Join(parts, "conclave.cdx.json"))
		if err == nil {
			err = os.WriteFile(filepath.Join(r.Out, r.name(p.OS+"-"+p.Arch)+".cdx.json"), bill, 0o644)
		}
		if err != nil {
			return err
		}
		made++
	}
	if made == 0 {
		return fmt.Errorf("%s has no program of any platform", r.Parts)
	}
	if err := r.writeNotes(); err != nil {
		return err
	}
	sums, err := writeSums(r.Out)
	_, _ = io.WriteString(out, sums)
	return err
}

// name returns the name of a platform's archive, without an extension: conclave-VERSION-PLATFORM.
func (r *Release) name(platform string) string { return "conclave-" + r.Version + "-" + platform }

// writeNotes writes NOTES.md with what the changelog says of this version (Notes). It fails if that is nothing.
func (r *Release) writeNotes() error {
	changelog, err := os.ReadFile(filepath.Join(r.Source, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	notes, err := Notes(string(changelog), r.Version)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.Out, "NOTES.md"), []byte(notes), 0o644)
}

// Notes returns the section of a changelog about a version or, if it has none, the section "Unreleased", under a
// heading with the version. It fails if it has neither.
func Notes(changelog, version string) (string, error) {
	sections := strings.Split("\n"+changelog, "\n## ")
	for _, wanted := range []string{version, "Unreleased"} {
		i := slices.IndexFunc(sections, func(s string) bool {
			title, _, _ := strings.Cut(s, "\n")
			name, _, _ := strings.Cut(strings.Trim(title, "[]v "), " ")
			return strings.Trim(name, "[]") == wanted
		})
		if i < 1 {
			continue
		}
		_, text, _ := strings.Cut(sections[i], "\n")
		return "# conclave " + version + "\n\n" + strings.TrimSpace(text) + "\n", nil
	}
	return "", fmt.Errorf("CHANGELOG.md has neither a section %q nor one that is called Unreleased", version)
}
