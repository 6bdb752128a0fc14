package folder

import (
	"cmp"
	"strings"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/disk"
)

// probe has one of everything that an analyser of English may treat in its own
// way: case, possessives, stop words, suffixes, numbers, compounds, accents,
// scripts without spaces, marks inside words.
const probe = `The Quick brown foxes' JUMPING over 3.14 lazily-sleeping dogs; O'Neill's
generalizations oscillate. Caresses ponies relational conditional vietnamization
hopefulness electricity university universal news was is are not to be. naïve
café Straße İstanbul 東京都 ひらがな カタカナ 한국어 ไทย e-mail a.b.c U.S.A. x_y_z foo@bar.com
http://example.org/a?b=c 1,000,000 C++ C# rock'n'roll don’t ﬁne ½ 😀 ` + "zero\u200bwidth soft\u00adhyphen"

// analyserFingerprint returns a hash of the analysed probe. It changes if the analyser behaves
// otherwise, and only then.
func analyserFingerprint(a bm25.Analysis) string {
	terms := a.Terms(probe)
	if a != bm25.Lucene {
		terms = append(append(append(terms, a.Forms("", probe)...), a.Forms("", formsProbe)...), a.Asked(formsProbe)...)
	}
	return disk.Sum([]byte(strings.Join(terms, "\n")))
}

// formsProbe has words with other forms, beside those of probe.
const formsProbe = `José Jose\u0301 Łódź Ærø Þór ΣΊΣΥΦΟΣ ёлка שָׁלוֹם ﬁ ＡＢＣ CO₂ 03-893 03893 BC.6613-18 BC661318 U-1909/G
wi-fi wifi Windows 11 Windows11 TA 729 AE 2 node.js snake_case .NET c++ c# 00:1A:2B 12-3.5 don’t don't x-y/z สวัสดี` + "\u200bชาวโลก"

// Analyser returns the fingerprint of this program's analysis of text into terms.
func Analyser(a bm25.Analysis) string { return analyserFingerprint(a) }

// checkAnalyser returns an error when the words of a collection were analysed in
// another way than questions would be.
func (m *manifest) checkAnalyser(dir string) error {
	if now := m.Words.fingerprintNow(); m.Words.Analyser != now {
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
