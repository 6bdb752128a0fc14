package fusion

import "unicode"

// The shares of symbols between which texts become ones of symbols. Prose has .02 to .05, also with formulas and
// references up to .09, functions of Go and Python .19 and .22 on the mean of a collection.
const (
	proseSymbols, codeSymbols = .1, .18
)

// Symbols returns how far texts are symbols rather than words, from 0 for prose to 1 for source code; 0 for empty
// texts. Words are poor evidence in such texts: what one does is said by few of them, and names join several.
func Symbols(texts []string) float64 {
	symbols, all := 0, 0
	for _, text := range texts {
		for _, r := range text {
			if unicode.IsSpace(r) {
				continue
			}
			all++
			if unicode.IsPunct(r) || unicode.IsSymbol(r) {
				symbols++
			}
		}
	}
	if all == 0 {
		return 0
	}
	return ramp(float64(symbols)/float64(all), proseSymbols, codeSymbols)
}
