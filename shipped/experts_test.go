package shipped

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/provision"
	"example.org/conclave/models"
	"example.org/conclave/models/convert"
)

// largest is how many bytes an expert may have, 4 MB: all of those that are
// shipped travel in every binary.
const largest = 4_000_000

// shipped are the experts that this version promises.
var shipped = []string{"amazon", "covid", "desire-me", "fairytale", "late", "medquad", "nq", "policy", "wiki"}

// TestShippedExperts: no more and no fewer than promised are in the binary.
func TestShippedExperts(t *testing.T) {
	if got := expertNames(); !slices.Equal(got, shipped) {
		t.Errorf("shipped are %v, want %v", got, shipped)
	}
}

// TestEveryExpertIsADeltaOfTheBase that this version fetches: those in the
// binary, and those that are committed for comparisons.
func TestEveryExpertIsADeltaOfTheBase(t *testing.T) {
	for _, name := range expertNames() {
		files, err := fs.Sub(FS, name)
		if err != nil {
			t.Fatal(err)
		}
		checkExpert(t, name, provision.BaseSHA256(), files)
		if m, err := convert.OpenDelta(files); err == nil && m.Manifest.Kind == models.KindDense &&
			m.Manifest.Vectors.Representatives == "" {
			t.Errorf("%s: no representatives; familiarity needs them", name)
		}
	}
	reader, err := fs.Sub(FS, Reader)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := convert.OpenDelta(reader); err != nil || d.Manifest.Kind != models.KindReader ||
		d.Manifest.Base.WeightsSHA256 != provision.BaseSHA256() ||
		d.Manifest.Name != Reader {
		t.Errorf("the reader: %v", err)
	}
	// Those have no representatives where they have no domain of their own.
	compared := comparisons(t)
	if len(compared) == 0 {
		t.Error("no expert in shipped/comparison")
	}
	for _, name := range compared {
		checkExpert(t, name, provision.BaseSHA256(), os.DirFS("comparison/"+name))
	}
	// The checkpoint that package e5s writes of the weights that setup fetches.
	const multilingual = "060d28a4043542c554f499cfdb17246992faa1d8eae90a04d3979853b63db3f2"
	late, err := fs.Sub(FS, MultilingualLate)
	if err != nil {
		t.Fatal(err)
	}
	checkExpert(t, MultilingualLate, multilingual, late)
}

// comparisons names the folders in shipped/comparison.
func comparisons(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("comparison")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// checkExpert reports what is wrong with the bundle in files, a delta of the base with a SHA-256.
func checkExpert(t *testing.T, name, base string, files fs.FS) {
	t.Helper()
	d, err := convert.OpenDelta(files)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	m := d.Manifest
	if m.Name != name {
		t.Errorf("%s: its name is %q", name, m.Name)
	}
	if name == "base" || strings.HasSuffix(name, "-fp32") || strings.HasSuffix(name, "-int8") {
		t.Errorf("%s: the base and names that end with a precision are for what setup makes", name)
	}
	if m.Base.WeightsSHA256 != base {
		t.Errorf("%s: it changes a base with SHA-256 %s; setup has one with %s", name, m.Base.WeightsSHA256, base)
	}
	sure := m.Kind == models.KindDense // the others are sure of nothing: the gate weighs them
	if d.Tied() == (m.Kind == models.KindDesireMe) ||
		(m.Vectors != nil && m.Vectors.Ensemble != nil) != sure || m.Files[models.CardFile] == "" {
		t.Errorf("%s: one encoder for both sides, a card, and of a dense expert alone an ensemble are expected", name)
	}
	if m.Lineage.Licence == "" {
		t.Errorf("%s: its manifest has no licence of the base", name)
	}
	if card, err := fs.ReadFile(files, models.CardFile); err != nil {
		t.Errorf("%s: %v", name, err)
	} else if licence := dataLicence(string(card)); licence == "" {
		t.Errorf("%s: %s does not state the licence of the data", name, models.CardFile)
	}
	if d.Calibration == nil && sure {
		t.Errorf("%s: no %s: it has no temperature", name, models.CalibrationFile)
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
		t.Errorf("%s has %.2f MB; %d are allowed", name, float64(size)/1e6, largest/1_000_000)
	}
}

// dataLicence returns what a card says after "Licence of the data:"; empty where it
// says nothing or "not stated", as conclave-train writes without --licence.
func dataLicence(card string) string {
	for line := range strings.Lines(card) {
		if rest, ok := strings.CutPrefix(line, "Licence of the data:"); ok {
			rest = strings.Trim(rest, " .\n")
			if strings.HasPrefix(rest, "not stated") {
				return ""
			}
			return rest
		}
	}
	return ""
}

// TestDataLicence: what conclave-train writes without --licence is none.
func TestDataLicence(t *testing.T) {
	for card, want := range map[string]string{
		"# x\n\nLicence of the data: CC BY 4.0 (MedQuAD).\n\n## Measured\n":              "CC BY 4.0 (MedQuAD)",
		"# x\n\nLicence of the data: not stated; ask whoever trained it.\n\n## Settings": "",
		"# x\n\nlicence of the base: apache-2.0\n":                                       "",
		"Licence of the data: .": "",
	} {
		if got := dataLicence(card); got != want {
			t.Errorf("%q states %q, want %q", card, got, want)
		}
	}
}

// TestChooseForLanguages: what has no bundle is left out, and the default experts take part for English that is the
// most frequent, or without late interaction for the others.
func TestChooseForLanguages(t *testing.T) {
	all, older := []string{Multilingual, MultilingualLate}, []string{Multilingual}
	for _, c := range []struct {
		codes, has []string
		want       string
	}{
		{[]string{"en"}, all, "default"}, {[]string{"de"}, all, "multilingual,multilingual-late"},
		{[]string{"de", "fr"}, older, "multilingual"}, {[]string{"de"}, nil, "default"},
		{[]string{"en", "de"}, all, "default,multilingual,multilingual-late"},
		{[]string{"en", "de"}, older, "default,multilingual"}, {[]string{"zh"}, []string{MultilingualLate}, "default"},
		{[]string{"de", "en"}, all, "multilingual,multilingual-late"}, {[]string{"de", "en"}, older, "default,multilingual"},
	} {
		if got := ChooseForLanguages(c.codes, func(name string) bool { return slices.Contains(c.has, name) }); got != c.want {
			t.Errorf("%q with %q: %s, want %s", c.codes, c.has, got, c.want)
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
		if folder, name := path.Split(file); name == models.ManifestFile && strings.Count(file, "/") == 1 &&
			!slices.Contains(append(expertNames(), MultilingualLate, Reader), path.Clean(folder)) {
			t.Errorf(
				"%s is committed: name %s in the go:embed line of experts.go, or keep it elsewhere",
				file,
				path.Clean(folder),
			)
		}
	}
}
