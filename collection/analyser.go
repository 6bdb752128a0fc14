package collection

import (
	"strings"

	"conclave/bm25"
	"conclave/disk"
)

// probe has one of everything that an analyser of English may treat in its own
// way: case, possessives, stop words, suffixes, numbers, compounds, accents,
// scripts without spaces, marks inside words.
const probe = `The Quick brown foxes' JUMPING over 3.14 lazily-sleeping dogs; O'Neill's
generalizations oscillate. Caresses ponies relational conditional vietnamization
hopefulness electricity university universal news was is are not to be. naïve
café Straße İstanbul 東京都 ひらがな カタカナ 한국어 ไทย e-mail a.b.c U.S.A. x_y_z foo@bar.com
http://example.org/a?b=c 1,000,000 C++ C# rock'n'roll don’t ﬁne ½ 😀 ` + "zero\u200bwidth soft\u00adhyphen"

// analyserFingerprint is a hash of the analysed probe. It changes if the analyser behaves
// otherwise, and only then.
func analyserFingerprint() string {
	return disk.Sum([]byte(strings.Join(bm25.Analyse(probe), "\n")))
}

// checkAnalyser is an error when the words of a collection were analysed in
// another way than questions would be.
func (m *manifest) checkAnalyser(dir string) error {
	if now := analyserFingerprint(); m.Words.Analyser != now {
		return fault(ErrOtherAnalyser, dir, "", "the words of %s were analysed in another way (%s) than this program does (%s): use the program that built it, or analyse them anew", dir, short(m.Words.Analyser), short(now))
	}
	return nil
}
