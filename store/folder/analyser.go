package folder

import (
	"cmp"
)

// checkAnalyser returns an error when the words of a collection were analysed in
// another way than questions would be.
func (m *manifest) checkAnalyser(dir string) error {
	if now := m.Words.fingerprintNow(); !m.Words.current() {
		return fault(
			ErrOtherAnalyser,
			dir,
			"",
			"the words of %s were analysed in another way (%s) than this program does (%s): use the program that built it, or analyse them anew",
			dir,
			short(m.Words.Analyser),
			cmp.Or(short(now), "which has no analysis "+m.Words.analysis()),
		)
	}
	return nil
}
