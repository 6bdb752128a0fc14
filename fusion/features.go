package fusion

import (
	"math"

	"example.org/conclave/internal/rank"
)

// SourceKind says what sort of source a column is.
type SourceKind string

// The kinds of sources.
const (
	Specialist SourceKind = "specialist" // an expert that knows questions of its domain: it has a familiarity
	Generalist SourceKind = "generalist" // a dense expert without a domain: one trained on everything
	Base       SourceKind = "base"       // the encoder that the specialists were fine-tuned from
	Lexical    SourceKind = "lexical"    // BM25
	Phrases    SourceKind = "phrases"    // BM25 over pairs of words, which counts beside BM25 alone
	Near       SourceKind = "near"       // how close the question's words stand together, which counts beside BM25 alone
	Late       SourceKind = "late"       // late interaction: a vector for each token; it ranks what the others found
)

// Dense reports whether a source of this kind compares one vector of the question with one of a passage.
func (k SourceKind) Dense() bool { return k != Lexical && k != Phrases && k != Near && k != Late }

// ObservedSource is what is known of a source beside its column of scores when it
// has answered a question.
type ObservedSource struct {
	Column int
	Kind   SourceKind
	// Familiarity is how near the question is to the domain of a specialist: the
	// mean inner product of the base encoder's vector of the question with the
	// nearest of the domain's representative questions.
	Familiarity float64
	// Rival is the highest familiarity of the other specialists, asked or not; 0
	// where there is none.
	Rival float64
	// Confidence is MUF's, 0 to 1; negative where it is not known.
	Confidence float64
	// Granular: the source is one of the granularities that CCE ranks by where nobody names others.
	Granular bool
	// UpperBound is the upper bound of a lexical source's scores for the question.
	UpperBound float64
	// Exact is, of a lexical source, the share of what it could give for the question that
	// is of words in very few passages, which the encoder has only in pieces; 0 to 1.
	Exact float64
	// Symbols is, of a lexical source, how far the collection's texts are symbols rather than words
	// (Symbols); 0 for prose.
	Symbols float64
	// Random are the source's scores of random passages of the collection, for Signals;
	// nil where Signals does not use them, or where the source was not asked.
	Random []rank.Hit
	// Foreign says that the source's scores are of another encoder than the base and its relatives, so that a gate counts
	// them by how far they spread (Gate.Spread).
	Foreign bool
}

// The features of a dense source, and those of the question as a whole. Their
// order is that of the coefficients in a Gate.
const (
	relativeFamiliarity = iota // own familiarity less the highest; 0 for one without a domain
	// own familiarity less the highest, times the highest: differences matter little where no specialist is familiar
	familiarHere
	highestFamiliarity // of all specialists; 0 without any
	surest             // MUF's confidence; 0 where it is not known
	gapFirst           // score of the first hit less that of the second
	gapTenth           // score of the first hit less that of the tenth
	sharedWords        // share of the first ten hits that are among BM25's first ten
	denseFeatures
)

const (
	wordsFamiliarity = iota // the highest familiarity
	wordsTop                // logarithm of 1 + BM25's highest score
	wordsCoverage           // BM25's highest score divided by its upper bound: how much of the question the words found
	wordsGapFirst           // (first - second) / first
	wordsGapTenth           // (first - tenth) / first
	wordsShared             // mean over the dense sources of the share of their first ten among BM25's
	wordsSpread             // logarithm of the deviation of BM25's scores over the candidates
	wordsInExperts          // mean over the dense sources of how high they place BM25's first ten (meanHeight)
	wordsOfLate             // how high BM25 places late interaction's first ten; 0 without it
	lexicalFeatures
)

// DenseFeatureNames returns the features that decide about a dense source's weight. The order is that of Gate.Dense.
func DenseFeatureNames() []string {
	return []string{
		"relative_familiarity",
		"relative_times_highest",
		"highest_familiarity",
		"confidence",
		"gap_first",
		"gap_tenth",
		"shared_with_words",
	}
}

// LexicalFeatureNames returns the features that decide about BM25's weight. The order is that of Gate.Lexical.
func LexicalFeatureNames() []string {
	return []string{
		"highest_familiarity",
		"log_top",
		"coverage",
		"relative_gap_first",
		"relative_gap_tenth",
		"shared_with_experts",
		"log_spread",
		"height_in_experts",
		"height_of_late",
	}
}

// Features are what a Gate reads: of every dense source, and of the question
// for BM25 and for late interaction.
type Features struct {
	Dense   [][]float64 // by position among the dense sources
	Lexical []float64
	Late    []float64 // nil without such a source
	Exact   float64   // that of the lexical source, as is Symbols
	Symbols float64
}

// FeaturesOf returns the features by which a Gate weights the sources for one question. Dense has a row for each dense
// source, in the order of sources; Lexical and Late are nil if sources has none of that kind, and Exact and Symbols are
// then 0. Differences between scores of first hits, and shares of common hits, are computed from each source's own
// hits. Spreads and heights are computed from all scores in the table c, of the candidates that one of these sources
// found.
func FeaturesOf(c *Candidates, sources []ObservedSource) Features {
	lexical := -1
	late := -1
	bound := 0.0
	exact := 0.0
	symbols := 0.0
	highest := math.Inf(-1)
	for _, s := range sources {
		switch s.Kind {
		case Lexical:
			lexical, bound, exact = s.Column, s.UpperBound, s.Exact
			symbols = s.Symbols
		case Late:
			late = s.Column
		case Specialist:
			highest = max(highest, s.Familiarity)
		}
	}
	if math.IsInf(highest, 0) {
		highest = 0
	}
	f := Features{Exact: exact, Symbols: symbols}
	shared := 0.0
	for _, s := range sources {
		if !s.Kind.Dense() {
			continue
		}
		top := c.headScores(s.Column)
		x := make([]float64, denseFeatures)
		if s.Kind == Specialist {
			x[relativeFamiliarity] = s.Familiarity - highest
			x[familiarHere] = (s.Familiarity - highest) * highest
		}
		x[highestFamiliarity] = highest
		x[surest] = max(s.Confidence, 0)
		x[gapFirst], x[gapTenth] = top[0]-top[1], top[0]-top[2]
		if lexical >= 0 {
			x[sharedWords] = c.sharedHead(s.Column, lexical)
		}
		shared += x[sharedWords]
		f.Dense = append(f.Dense, x)
	}
	if lexical >= 0 {
		top := c.headScores(lexical)
		x := make([]float64, lexicalFeatures)
		x[wordsFamiliarity] = highest
		x[wordsTop] = math.Log1p(max(top[0], 0))
		if bound > 0 {
			x[wordsCoverage] = top[0] / bound
		}
		if top[0] > 0 {
			x[wordsGapFirst], x[wordsGapTenth] = (top[0]-top[1])/top[0], (top[0]-top[2])/top[0]
		}
		if n := len(f.Dense); n > 0 {
			x[wordsShared] = shared / float64(n)
		}
		f.Lexical = x
	}
	var first []int32 // by late interaction
	if late >= 0 {
		first = c.firstBy(sources, late)
		f.Late = c.lateFeaturesOf(first, late, lexical)
		f.Late[lateFamiliarity] = highest
		if lexical >= 0 {
			f.Late[lateCoverage] = f.Lexical[wordsCoverage]
		}
	}
	f.readHeights(c, sources, lexical, late, first)
	return f
}

// headDepth is how many hits "the first hits" are.
const headDepth = 10

// headScores returns the scores of a source's first, second and tenth hit. Where there are fewer hits, it is the last
// one's; zeros without hits.
func (c *Candidates) headScores(column int) (scores [3]float64) {
	n := c.columns[column].hits
	if n == 0 {
		return scores
	}
	places := [3]int{1, min(2, n), min(headDepth, n)}
	for row := range c.ordinals {
		at := c.cellAt(row, column)
		for i, place := range places {
			if int(at.rank) == place {
				scores[i] = float64(at.score)
			}
		}
	}
	return scores
}

// sharedHead returns how many of the first ten hits of one source are among the first ten of another, divided by ten.
func (c *Candidates) sharedHead(one, other int) float64 {
	shared := 0
	for row := range c.ordinals {
		a, b := c.cellAt(row, one).rank, c.cellAt(row, other).rank
		if a > 0 && a <= headDepth && b > 0 && b <= headDepth {
			shared++
		}
	}
	return float64(shared) / headDepth
}
