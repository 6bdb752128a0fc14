package bm25

const (
	// phraseMemory is about what a distinct phrase costs in the builder beside
	// its postings: a map entry of two numbers, with the room that a map keeps,
	// its place, and its number in the order in which it is written.
	phraseMemory = 80

	phrasePage     = 1 << phrasePageBits // phrases that are allocated at once
	phrasePageBits = 12
)

// A phraseTable holds the phrases of a builder. A phrase is kept as the numbers
// of its two terms, without a text: there are many times more phrases than
// terms.
type phraseTable struct {
	numbers map[uint64]uint32 // first<<32 | second → its number
	pages   [][]builderPhrase // by number; pages, since copying a list that grows takes long
	n       int               // how many phrases
	touched []uint32          // phrases of the passage being added
}

type builderPhrase struct {
	first, second uint32 // terms
	growing
}

func newPhraseTable() *phraseTable { return &phraseTable{numbers: make(map[uint64]uint32)} }

// at is the phrase with a number.
func (t *phraseTable) at(number uint32) *builderPhrase {
	return &t.pages[number>>phrasePageBits][number&(phrasePage-1)]
}

// count counts a phrase of the passage being added.
func (t *phraseTable) count(first, second uint32) {
	key := uint64(first)<<32 | uint64(second)
	number, ok := t.numbers[key]
	if !ok {
		number = uint32(t.n)
		t.numbers[key] = number
		if t.n == len(t.pages)*phrasePage {
			t.pages = append(t.pages, make([]builderPhrase, phrasePage))
		}
		*t.at(number) = builderPhrase{first: first, second: second}
		t.n++
	}
	p := t.at(number)
	if p.tf == 0 {
		t.touched = append(t.touched, number)
	}
	p.tf++
}

// size is about how many bytes would be free after a reset.
func (t *phraseTable) size() int64 {
	if t == nil {
		return 0
	}
	return phraseMemory * int64(t.n)
}

func (t *phraseTable) reset() {
	if t != nil {
		clear(t.numbers)
		t.n = 0 // the pages stay for the next ones
	}
}

// among puts the phrases, with the number of terms added to theirs, in their
// places among the terms, which are given in the order of their bytes.
//
// All bytes of terms are greater than a space, so that phrases follow their
// first term, and precede the next one, in the order of their second. Two
// passes of counting sort then take the place of millions of comparisons of
// texts.
func (t *phraseTable) among(terms []uint32) []uint32 {
	places := make([]uint32, len(terms)) // term → place in the order
	for place, id := range terms {
		places[id] = uint32(place)
	}
	order := make([]uint32, t.n)
	for i := range order {
		order[i] = uint32(i)
	}
	order, _ = countingSort(order, len(terms), func(p uint32) uint32 { return places[t.at(p).second] })
	order, ends := countingSort(order, len(terms), func(p uint32) uint32 { return places[t.at(p).first] })
	out := make([]uint32, 0, len(terms)+len(order))
	from := uint32(0)
	for place, id := range terms {
		out = append(out, id)
		for _, p := range order[from:ends[place]] {
			out = append(out, uint32(len(terms))+p)
		}
		from = ends[place]
	}
	return out
}

// countingSort sorts numbers by a key below n, and leaves those with equal keys
// in their order. It returns where those of each key end.
func countingSort(numbers []uint32, n int, key func(uint32) uint32) (sorted, ends []uint32) {
	ends = make([]uint32, n)
	for _, number := range numbers {
		ends[key(number)]++
	}
	sum := uint32(0)
	for k, count := range ends {
		ends[k] = sum // for now, where they begin
		sum += count
	}
	sorted = make([]uint32, len(numbers))
	for _, number := range numbers {
		k := key(number)
		sorted[ends[k]] = number
		ends[k]++
	}
	return sorted, ends
}
