package experts

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"conclave/models"
	"conclave/provision"
)

// largest is how many bytes an expert may have: all of them travel in every
// binary.
const largest = 4 << 20

// TestEveryExpertIsADeltaOfTheBase that this version fetches.
func TestEveryExpertIsADeltaOfTheBase(t *testing.T) {
	for _, name := range Names() {
		files, err := fs.Sub(FS, name)
		if err != nil {
			t.Fatal(err)
		}
		d, err := models.OpenDelta(files)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m := d.Manifest
		if m.Name != name {
			t.Errorf("%s: its name is %q", name, m.Name)
		}
		if name == "base" || strings.HasSuffix(name, "-fp32") || strings.HasSuffix(name, "-int8") {
			t.Errorf("%s: the base and names that end with a precision are for what setup makes", name)
		}
		if want := provision.BaseSHA256(); m.Base.WeightsSHA256 != want {
			t.Errorf("%s: it changes a base with SHA-256 %s; setup fetches one with %s", name, m.Base.WeightsSHA256, want)
		}
		if !d.Tied() || m.Ensemble == nil || m.Representatives == "" || m.Files[models.CardFile] == "" {
			t.Errorf("%s: one encoder for both sides, an ensemble, representatives and a card are expected", name)
		}
		if m.Lineage.Licence == "" {
			t.Errorf("%s: no licence", name)
		}
		var size int64
		if err := fs.WalkDir(files, ".", func(at string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			if base := path.Base(at); m.Files[base] == "" && base != models.ManifestFile && base != models.CalibrationFile {
				t.Errorf("%s: %s is not in its manifest", name, at)
			}
			info, err := e.Info()
			if err == nil {
				size += info.Size()
			}
			return err
		}); err != nil {
			t.Error(err)
		}
		if size > largest {
			t.Errorf("%s has %.1f MiB; %d are allowed", name, float64(size)/(1<<20), largest>>20)
		}
	}
}

// TestCommittedExpertsAreShipped: a bundle that is committed here and not
// named in the go:embed line was forgotten there.
func TestCommittedExpertsAreShipped(t *testing.T) {
	if _, err := os.Stat("../.git"); err != nil {
		t.Skip("no git repository")
	}
	out, err := exec.Command("git", "ls-files", "--", "*/"+models.ManifestFile).Output()
	if err != nil {
		t.Skipf("git: %v", err)
	}
	for _, file := range strings.Fields(string(out)) {
		if folder, name := path.Split(file); name == models.ManifestFile && strings.Count(file, "/") == 1 && !slices.Contains(Names(), path.Clean(folder)) {
			t.Errorf("%s is committed: name %s in the go:embed line of experts.go, or keep it elsewhere", file, path.Clean(folder))
		}
	}
}
