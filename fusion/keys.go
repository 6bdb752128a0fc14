package fusion

import "conclave/rank"

// Key is a word of a question as it was written, between white space, such as a name, a
// number or BC.6613-18; or two terms that follow each other.
type Key struct {
	Text string
	// Rarity is the inverse document frequency of its rarest term, divided by that of a
	// term that no passage has: 1 for such a term, near 0 for one that all have.
	Rarity float64
	Code   bool   // a word with a digit
	Pair   bool   // two terms
	Of     uint64 // of a pair: the set of the words that it is of
}

// MaxKeys is how many keys of a question count: the bits of a set.
const MaxKeys = 64

// Keys are those of a question, and which of them a passage has.
type Keys struct {
	List []Key // at most MaxKeys
	// Held is the set of those that a passage has, a bit each: of a word that the index has
	// in parts, all of them side by side. Nil where that is not known.
	Held func(rank.Ordinal) uint64
}

// What the first passage holds of the question's keys, among the signals.
const (
	codesHeld    = iota // how rare the codes are, times the share of them that it has
	codesMissing        // the same times the share that it lacks
	nameHeld            // it has a rare pair, and little else of the question
	rarePairHeld        // how rare the rarest pair is that it has
	shortAllHeld        // it has all words of a short question
	heldSignals
)

// The rarities between which a key becomes rare.
const (
	commonCode, rareCode = .4, .7
	commonPair, rarePair = .6, .85
	commonName, rareName = .75, .9
)

// held are the signals of what a passage holds, and the share of the others that they
// leave. A question for a code, or for a name, is answered by the passage that has it; how
// near the encoders find that passage says little, since they have such words in pieces.
// Where a code is missing they count, as far as the passage has the rest of the question.
func (k *Keys) held(passage rank.Ordinal, shortness float64) (signals [heldSignals]float64, others float64) {
	others = 1
	if k.Held == nil {
		return signals, others
	}
	set := k.Held(passage)
	has := func(i int) bool { return set>>i&1 == 1 }
	rarest, codes, there, rest, words, all := 0., 0., 0., 0., 0, true
	for i, x := range k.List {
		if x.Pair {
			continue
		}
		words++
		all = all && has(i)
		if !x.Code {
			if has(i) {
				rest += x.Rarity
			}
			continue
		}
		rare := ramp(x.Rarity, commonCode, rareCode)
		rarest, codes = max(rarest, rare), codes+rare
		if has(i) {
			there += rare
		}
	}
	if codes > 0 {
		share := there / codes
		signals[codesHeld], signals[codesMissing] = rarest*share, rarest*(1-share)
		others = 1 - rarest*(1-min(1, rest/3)*(1-share))
	}
	best := -1
	for i, x := range k.List {
		if x.Pair && has(i) && (best < 0 || x.Rarity > k.List[best].Rarity) {
			best = i
		}
	}
	if best >= 0 {
		beside := 0.
		for i, x := range k.List {
			if !x.Pair && has(i) && k.List[best].Of>>i&1 == 0 {
				beside += x.Rarity
			}
		}
		signals[nameHeld] = (1 - rarest) * ramp(k.List[best].Rarity, commonName, rareName) * max(0, 1-beside/.7)
		others *= 1 - signals[nameHeld]
		signals[rarePairHeld] = others * ramp(k.List[best].Rarity, commonPair, rarePair)
	}
	if all && words > 1 {
		signals[shortAllHeld] = others * shortness
	}
	return signals, others
}

// ramp is 0 up to low, 1 from high on, and a line between.
func ramp(x, low, high float64) float64 { return min(1, max(0, (x-low)/(high-low))) }
