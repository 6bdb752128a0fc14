package words

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"example.org/conclave/internal/corpus"
)

// Generator makes passages and questions in which words are as unevenly spread
// as in English, in any number, from a seed.
//
// The frequency of the word of rank r falls as 1/r up to rank 4,000 and as
// 1/r^1.8 beyond (the two regimes that Ferrer i Cancho and Solé found in
// English, 2001); the first ranks are English function words, the others are
// made of syllables, short ones first. Most words of a passage that are no
// function words come from its topic, one of 2,000, which has its own order of
// 3,000 words drawn by their frequencies: so words of a topic occur together
// and repeatedly, as they do in texts. Lengths are log-normal around 90 words.
type Generator struct {
	rng    *rand.Rand
	words  []string
	common []float64 // cumulative frequencies by rank
	topic  []float64
}

const (
	topics     = 2_000
	topicWords = 3_000
	regime     = 4_000 // the rank at which frequencies begin to fall faster
)

var functionWords = strings.Fields(`the of and to a in is was that for it with as on be at by this he from his
	are which have or had not you they were their but all one we can her has there been if more when will would
	who so no what up about out them than then its into only some could these two may other do first any my now
	such like our over man me even most made after also did many before must through back years where much your
	way well down should because each just those people how too little state good very make world still own see
	men work long get here between both life being under never day same another know while last might us great
	old year off come since against go came right used take three`)

// NewGenerator returns a generator with a vocabulary of the given size; a corpus of a million passages uses most of
// it. What it generates follows from the seed.
func NewGenerator(seed uint64, vocabulary int) *Generator {
	g := &Generator{rng: rand.New(rand.NewPCG(seed, 0x77_6f_72_64))}
	for r := range vocabulary {
		if r < len(functionWords) {
			g.words = append(g.words, functionWords[r])
		} else {
			g.words = append(g.words, pseudoWord(r))
		}
	}
	g.common = cumulative(vocabulary, func(r float64) float64 {
		if r > regime {
			return math.Pow(r/regime, -1.8) / regime
		}
		return 1 / (r + 2.7)
	})
	g.topic = cumulative(topicWords, func(r float64) float64 { return math.Pow(r+2.7, -0.8) })
	return g
}

// pseudoWord returns the word of a rank, made of syllables; no two ranks have the same word. r is the rank, from 0.
func pseudoWord(r int) string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	var out []byte
	for n := r + 5000; n > 0; n /= len(consonants) * len(vowels) {
		out = append(out, consonants[n%len(consonants)], vowels[n/len(consonants)%len(vowels)])
	}
	return string(append(out, consonants[r%7]))
}

// cumulative returns the cumulative sums of the frequencies of n ranks. frequency is called with the ranks from 0.
func cumulative(n int, frequency func(rank float64) float64) []float64 {
	out := make([]float64, n)
	sum := 0.0
	for r := range out {
		sum += frequency(float64(r))
		out[r] = sum
	}
	return out
}

// draw returns a random rank, from 0, by cumulative frequencies.
func (g *Generator) draw(frequencies []float64) int { return place(frequencies, g.rng.Float64(), 0) }

// place returns the rank, first or above, at which the cumulative frequencies reach a part, from 0 to 1, of their sum.
func place(frequencies []float64, part float64, first int) int {
	low := 0.0
	high := frequencies[len(frequencies)-1]
	if first > 0 {
		low = frequencies[first-1]
	}
	at, _ := slices.BinarySearch(frequencies, low+part*(high-low))
	return min(max(at, first), len(frequencies)-1)
}

// topicWord returns a random word of a topic. Which word has which rank in a topic is fixed by mixing bits, so that
// topics need no memory.
func (g *Generator) topicWord(topic int) int {
	mixed := uint64(topic)<<32 | uint64(g.draw(g.topic))
	mixed = (mixed ^ mixed>>29) * 0xbf58476d1ce4e5b9
	mixed = (mixed ^ mixed>>32) * 0x94d049bb133111eb
	return place(g.common, float64(mixed>>11)/(1<<53), min(len(functionWords), len(g.words)-1))
}

// Passage returns passage number i, at random: the number is only in its id. The passages follow from the seed if
// they are made in order.
func (g *Generator) Passage(i int) corpus.Passage {
	topic := g.rng.IntN(topics)
	length := int(math.Exp(math.Log(90) + 0.45*g.rng.NormFloat64()))
	var text strings.Builder
	for range min(max(length, 5), 600) {
		word := g.draw(g.common)
		if word >= len(functionWords) && g.rng.IntN(4) > 0 || g.rng.IntN(4) == 0 {
			word = g.topicWord(topic)
		}
		text.WriteString(g.words[word])
		text.WriteByte(' ')
	}
	title := g.words[g.topicWord(topic)] + " " + g.words[g.topicWord(topic)]
	return corpus.Passage{ID: fmt.Sprintf("generated-%07d", i), Title: title, Text: text.String()}
}

// Question returns a question with three to five of the passage's rarer words, between function words.
func (g *Generator) Question(p corpus.Passage) string {
	words := strings.Fields(p.Text)
	g.rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	words = words[:min(len(words), 20)]
	slices.SortStableFunc(words, func(a, b string) int {
		return cmp.Compare(len(b), len(a)) // the longer, the rarer
	})
	words = words[:min(len(words), 3+g.rng.IntN(3))]
	for range 3 {
		words = append(words, functionWords[g.rng.IntN(len(functionWords))])
	}
	g.rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	return strings.Join(words, " ") + "?"
}

// Collection returns n passages and this number of questions about random ones of them. It panics if n is 0 and
// questions is not.
func (g *Generator) Collection(n, questions int) ([]corpus.Passage, []string) {
	passages := make([]corpus.Passage, n)
	for i := range passages {
		passages[i] = g.Passage(i)
	}
	asked := make([]string, questions)
	for i := range asked {
		asked[i] = g.Question(passages[g.rng.IntN(n)])
	}
	return passages, asked
}
