package fusion

import "example.org/conclave/internal/rank"

// Key is a word of a question as it was written, between white space, such as a name, a
// number or BC.6613-18; or two terms that follow each other.
type Key struct {
	Text string
	// Rarity is the inverse document frequency of its rarest term, divided by that of a
	// term that no passage has: 1 for such a term, near 0 for one that all have.
	Rarity float64
	// Code is, of a word with a digit, how far such words tell one passage from all
	// others: 1 for a part number, 0 for a number of one digit and for other words.
	Code float64
	Pair bool   // two terms
	Of   uint64 // of a pair: the set of the words that it is of
}

// MaxKeys is how many keys of a question count: the bits of a set.
const MaxKeys = 64

// Keys are those of a question, and which of them a passage has.
type Keys struct {
	List []Key // at most MaxKeys
	// SetOf returns the set of those that a passage has, a bit each: of a word that the index has
	// in parts, all of them side by side. Nil where that is not known.
	SetOf func(rank.Ordinal) uint64
}

// What the first passage holds of the question's keys, among the signals.
const (
	codesHeld    = iota // how far the question is for codes, times the share of them that it has
	codesMissing        // the same times the share that it lacks
	nameHeld            // it has a rare pair of rare words, and little else of the question
	shortAllHeld        // it has all words of a short question
	heldSignals
)

// The rarities between which a key becomes rare.
const (
	commonCode, rareCode = .4, .7
	commonPair, rarePair = .65, .8
	commonName, rareName = .35, .45 // the commoner of a pair's words
)

// What a passage has beside a code or a name with which the question is not for that: so
// many rare words, and so much as a sum of rarities. A word becomes rare from commonBeside
// to rareCode.
const (
	besideCode   = 2
	commonBeside = .25
	besideName   = .4
)

// heldSignals returns the signals on which of the question's keys a passage has, and others, the factor from 0 to 1 for
// all other signals. If SetOf is nil, the signals are 0 and others is 1. shortness, from 0 to 1, is how short the
// question is.
// A question for a code is answered by the passage that has it; how near the encoders find that passage says little,
// since they split such words into pieces: then others is low. The more other words of the question the passage has,
// the more the question counts as an ordinary one.
func (k *Keys) heldSignals(passage rank.Ordinal, shortness float64) (signals [heldSignals]float64, others float64) {
	others = 1
	if k.SetOf == nil {
		return signals, others
	}
	set := k.SetOf(passage)
	has := func(i int) bool { return set>>i&1 == 1 }
	rarest, codes, there, rest, words, all := 0., 0., 0., 0., 0, true
	for i, x := range k.List {
		if x.Pair {
			continue
		}
		words++
		all = all && has(i)
		rare := x.Code * ramp(x.Rarity, commonCode, rareCode)
		if rare == 0 {
			if has(i) {
				rest += ramp(x.Rarity, commonBeside, rareCode)
			}
			continue
		}
		rarest = max(rarest, rare)
		codes = codes + rare
		if has(i) {
			there += rare
		}
	}
	asked := rarest * (1 - min(1, rest/besideCode))
	if asked > 0 {
		share := there / codes
		signals[codesHeld], signals[codesMissing] = asked*share, asked*(1-share)
		others = 1 - asked
	}
	signals[nameHeld] = (1 - asked) * k.nameShare(has)
	if all && words > 1 {
		signals[shortAllHeld] = others * shortness
	}
	return signals, others
}

// nameShare returns how far, from 0 to 1, the question asks for a name that the passage has. It is high for a rare pair
// of words, each of them rare, if the passage has little else of the question. has reports whether the passage has the
// key at an index of k.List.
func (k *Keys) nameShare(has func(int) bool) float64 {
	best := 0.0
	parts := uint64(0)
	for i, x := range k.List {
		if !x.Pair || !has(i) {
			continue
		}
		commoner := 1.0
		for j, y := range k.List {
			if x.Of>>j&1 == 1 {
				commoner = min(commoner, y.Rarity)
			}
		}
		if rare := ramp(x.Rarity, commonPair, rarePair) * ramp(commoner, commonName, rareName); rare > best {
			best = rare
			parts = x.Of
		}
	}
	beside := 0.0
	for i, x := range k.List {
		if !x.Pair && has(i) && parts>>i&1 == 0 {
			beside += x.Rarity
		}
	}
	return best * max(0, 1-beside/besideName)
}

// ramp returns 0 if x is at most low, 1 if it is at least high, and in between the share of the way from low to high.
func ramp(x, low, high float64) float64 { return min(1, max(0, (x-low)/(high-low))) }
