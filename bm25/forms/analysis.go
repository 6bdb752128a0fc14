// Package forms analyses texts: it returns the terms under which an index has their words, the other forms of
// passages' words, such as those without accents or joined into one word, and the variants of a question's terms.
package forms

import (
	"fmt"
	"slices"
	"strings"
)

// An Analysis is a way of turning texts into terms. A question has to be analysed as the
// passages were.
type Analysis uint32

const (
	// Lucene is the analysis of Lucene 9.12's EnglishAnalyzer (see Analyse).
	Lucene Analysis = iota
	// Unicode is Lucene's, of texts in the form of normalise.Words, and a question's words
	// also find passages that have them in another form: without accents, as one word or
	// as several (see joined.go). Of texts in ASCII, the terms, how many there are, and how
	// many passages have them are Lucene's.
	Unicode
	// Weighted does not analyse texts: passages and questions are given as terms with weights (AddWeighted), and a
	// passage's score is the sum of their products instead of BM25's formula. It cannot be chosen for the words of a
	// collection.
	Weighted
)

// severalLanguages marks the Analysis of texts in several languages (see OfLanguages): bit i stands for
// languageRules[i], and englishBit for English.
const (
	severalLanguages Analysis = 1 << 31
	englishBit       Analysis = 1 << 30
)

// Analyses are the names of all analyses of one language, in their order. Those of other languages than English are
// named after Unicode and the language, such as unicode-de; those of several after all of them, such as unicode-en+de.
var Analyses = func() []string {
	names := []string{Lucene: "lucene", Unicode: "unicode", Weighted: "weighted"}
	for i := range languageRules {
		names = append(names, languageMark+languageRules[i].code)
	}
	return names
}()

// String returns the analysis's name, such as unicode.
func (analysis Analysis) String() string {
	if codes := analysis.codes(); codes != nil {
		return languageMark + strings.Join(codes, languageGap)
	}
	if int(analysis) < len(Analyses) {
		return Analyses[analysis]
	}
	return fmt.Sprintf("analysis %d", uint32(analysis))
}

// ParseAnalysis returns the analysis with this name. It fails for an unknown name and for Weighted, which cannot be
// chosen by name.
func ParseAnalysis(name string) (Analysis, error) {
	for a, known := range Analyses {
		if known == name && Analysis(a) != Weighted {
			return Analysis(a), nil
		}
	}
	if list, ok := strings.CutPrefix(name, languageMark); ok {
		codes := strings.Split(list, languageGap)
		known := !slices.ContainsFunc(codes, func(code string) bool { return code != english && OfLanguage(code) == Unicode })
		if known {
			return OfLanguages(codes), nil
		}
	}
	return 0, fmt.Errorf(
		"there is no analysis of words %q: %q (English), %q, and %s followed by the code of another language, or by several "+
			"with %s between them, are known: %s, %s",
		name, Unicode, Lucene, languageMark, languageGap, english, strings.Join(LanguageCodes(), ", "),
	)
}

// Version returns the number by which files name the analysis.
func (analysis Analysis) Version() uint32 {
	if analysis&severalLanguages != 0 {
		return uint32(analysis)
	}
	return analysisVersions[analysis]
}

// IsKnown reports whether there is such an analysis.
func (analysis Analysis) IsKnown() bool {
	if analysis&severalLanguages != 0 {
		return analysis&^severalLanguages&^englishBit < 1<<len(languageRules)
	}
	return int(analysis) < len(Analyses)
}

// analysisVersions are the numbers by which files name analyses of one language. Raise one, to a number that no other
// has, with any change of what terms come out of a text.
var analysisVersions = func() []uint32 {
	versions := []uint32{Lucene: 1, Unicode: 2, Weighted: 3}
	for i := range languageRules {
		versions = append(versions, languageRules[i].version)
	}
	return versions
}()

// AnalysisOf returns the analysis that files name by this version; false if there is none.
func AnalysisOf(version uint32) (Analysis, bool) {
	if a := Analysis(version); a&severalLanguages != 0 {
		return a, a.IsKnown()
	}
	for a, v := range analysisVersions {
		if v == version {
			return Analysis(a), true
		}
	}
	return 0, false
}
