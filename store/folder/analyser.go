package folder

import (
	"cmp"

	"example.org/conclave/store/folder/internal/manifest"
)

// checkAnalyser returns an error when the words of a collection were analysed in
// another way than questions would be.
func checkAnalyser(m *manifest.Manifest, dir string) error {
	if now := m.Words.FingerprintNow(); !m.Words.Current() {
		return fault(
			ErrOtherAnalyser,
			dir,
			"",
			"the words of %s were analysed in another way (%s) than this program does (%s): use the program that built it, or analyse them anew",
			dir,
			manifest.Short(m.Words.Analyser),
			cmp.Or(manifest.Short(now), "which has no analysis "+m.Words.AnalysisName()),
		)
	}
	return nil
}
