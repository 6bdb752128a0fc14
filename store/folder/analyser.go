package folder

import (
	"cmp"

	"example.org/conclave/store/folder/internal/manifest"
)

// checkAnalyser returns an ErrOtherAnalyser fault if this program would analyse the words of a question in another way
// than the words of the collection were analysed. dir is the collection's folder.
func checkAnalyser(m *manifest.Manifest, dir string) error {
	if now := m.Words.FingerprintNow(); !m.Words.Current() {
		return fault(
			ErrOtherAnalyser, dir, "",
			"the words of %s were analysed in another way (%s) than this program does (%s): use the program that built it, or analyse them anew",
			dir, manifest.Short(m.Words.Analyser),
			cmp.Or(manifest.Short(now), "which has no analysis "+m.Words.AnalysisName()),
		)
	}
	return nil
}
