package grounds

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"example.org/conclave/search/internal/answering/naming"
	"example.org/conclave/search/internal/content"
)

// Grounds are the sentences and table rows of some passages, with the share of a question that each says.
type Grounds struct {
	asked    []string  // the question's words, each once
	function []bool    // for each, whether it is a function word
	weigh    []float64 // for each, how rare it is among the units; times functionWeight for a function word
	all      float64   // sum of weigh
	units    []unit
	highest,
	highestSentence float64 // the highest share of the question that a unit says, and that a sentence says
}

// Find returns the grounds for a question in texts, the passages of an answer in their order. function are the
// question's function words in lower case; nil: they are not known.
func Find(question string, function []string, texts []string) *Grounds {
	g := &Grounds{}
	for _, w := range content.WordsIn(question) {
		if !slices.Contains(g.asked, w.Lower) {
			g.asked = append(g.asked, w.Lower)
		}
	}
	for i, text := range texts {
		g.units = append(g.units, unitsOf(i, text)...)
	}
	for _, word := range g.asked {
		having := 0
		for i := range g.units {
			u := &g.units[i]
			says := u.has(word)
			u.says = append(u.says, says)
			if says {
				having++
			}
		}
		rare := math.Log(1 + float64(len(g.units))/float64(1+having))
		little := slices.Contains(function, word)
		g.function = append(g.function, little)
		if little {
			rare *= functionWeight
		}
		g.weigh = append(g.weigh, rare)
		g.all += rare
	}
	for i := range g.units {
		u := &g.units[i]
		for n, says := range u.says {
			if says {
				u.share += g.weigh[n] / g.all
			}
		}
		g.highest = max(g.highest, u.share)
		if u.header == nil {
			g.highestSentence = max(g.highestSentence, u.share)
		}
	}
	return g
}

// functionWeight is the weight of a function word next to another word that is as rare. It decides between units that
// otherwise say the same, such as the rows of the first and of the last ferry.
const functionWeight = .1

// has reports whether a unit or its header has a word, in any inflection. A row whose first cell is a range, such as "3
// to 5", also has the numbers between.
func (u *unit) has(word string) bool {
	return len(u.cells) > 0 && inRange(u.cells[0].text, word) ||
		slices.ContainsFunc(u.words, func(w content.WordIn) bool { return sameWord(w.Lower, word) }) ||
		slices.ContainsFunc(u.header, func(c cell) bool { return hasWord(c.text, word) })
}

// inRange reports whether a text has exactly two numbers and word is a number from the first to the second.
func inRange(text, word string) bool {
	value, ok := valueOf(word)
	if !ok {
		return false
	}
	var ends []int
	for _, w := range content.WordsIn(text) {
		if end, ok := valueOf(w.Lower); ok {
			ends = append(ends, end)
		}
	}
	return len(ends) == 2 && ends[0] <= value && value <= ends[1]
}

// valueOf returns the value of a whole number, in digits or as an English word in lower case up to ninety-nine. ok is
// false for other words.
func valueOf(word string) (value int, ok bool) {
	value, err := strconv.Atoi(cmp.Or(naming.WrittenValue(word), word))
	return value, err == nil
}

// hasWord reports whether a text has a word (in lower case), in any inflection (sameWord).
func hasWord(text, word string) bool {
	return slices.ContainsFunc(content.WordsIn(text), func(w content.WordIn) bool { return sameWord(w.Lower, word) })
}

// sameWord reports whether two words in lower case are equal or differ only in their ending, as fillings and filled do.
// Words with digits have to be equal.
func sameWord(a, b string) bool {
	if a == b {
		return true
	}
	if content.HasDigit(a) || content.HasDigit(b) {
		return false
	}
	shared := content.SharedPrefix(a, b)
	longest := max(utf8.RuneCountInString(a), utf8.RuneCountInString(b))
	return shared >= leastStem && longest-shared <= longestEnding
}

const (
	leastStem     = 3 // the fewest letters that forms of one word share at their beginning
	longestEnding = 3 // the most letters that follow these
)

// Row is a row of a table.
type Row struct {
	Passage    int // index of texts, as Find got them
	Begin, End int // bytes in the text of the passage
	Header     []string
	Cells      []string
	Column     int // index of the cell that answers; -1: it is not known
	// CellBegin and CellEnd are the bytes of that cell in the passage's text; 0 if it is not known.
	CellBegin, CellEnd int
}

// leastSaid is the least share of the question that a row has to say to answer it.
const leastSaid = .3

// Row returns the table row that says the greatest share of the question. ok is false if another row says as much, a
// sentence says as much, or the share is below leastSaid. counts reports whether the rows of a passage are considered.
// Row.Column is the column whose heading says most of the question, or the other one of two columns.
func (g *Grounds) Row(counts func(passage int) bool) (row Row, ok bool) {
	var best *unit
	most := 0.0
	ties := false
	for i := range g.units {
		u := &g.units[i]
		if u.header == nil || !counts(u.passage) {
			continue
		}
		subject := g.subjectCell(u)
		if subject < 0 {
			continue
		}
		switch score := u.share + subjectWeight*g.shareSaid(u.cells[subject].text); {
		case best == nil || score > most+almost:
			best = u
			most = score
			ties = false
		case score > most-almost:
			ties = true
		}
	}
	if best == nil || ties || best.share < leastSaid || best.share < g.highestSentence+almost {
		return Row{}, false
	}
	row = Row{Passage: best.passage, Begin: best.begin, End: best.end, Column: g.askedColumn(best)}
	for i := range best.cells {
		row.Header = append(row.Header, best.header[i].text)
		row.Cells = append(row.Cells, best.cells[i].text)
	}
	if row.Column >= 0 {
		answer := best.cells[row.Column]
		row.CellBegin, row.CellEnd = answer.begin, answer.end
	}
	return row, true
}

// almost is the greatest difference between two shares that count as equal: they may differ by rounding.
const almost = 1e-9

// subjectWeight times the share of a subject cell's words that the question has is added to the share of the question
// that its row says: a question about the brewing unit is about the row "Brewing unit" rather than "Grease on the
// brewing unit".
const subjectWeight = .05

// subjectCell returns the index of the cell of a row that says most of the question; -1 if no cell says any of it. Of
// equals it is the first.
func (g *Grounds) subjectCell(u *unit) int {
	best := -1
	most := 0.0
	for i, c := range u.cells {
		if share := g.inCell(c.text); share > most+almost {
			best = i
			most = share
		}
	}
	return best
}

// shareSaid returns the share of the words of a text that the question has, from 0 to 1; 0 if the text has no words.
func (g *Grounds) shareSaid(text string) float64 {
	words := content.WordsIn(text)
	has := 0
	for _, w := range words {
		if slices.ContainsFunc(g.asked, func(word string) bool { return sameWord(w.Lower, word) }) {
			has++
		}
	}
	return float64(has) / float64(max(len(words), 1))
}

// askedColumn returns the index of the column whose heading says most of the question, apart from the subject's; of two
// columns, the other one. It returns -1 if several say as much, or none says any of it. The row must have a subject.
func (g *Grounds) askedColumn(u *unit) int {
	subject := g.subjectCell(u)
	if len(u.header) == 2 {
		return 1 - subject
	}
	best := -1
	most := 0.0
	for i := range u.header {
		if i == subject {
			continue
		}
		switch share := g.inCell(u.header[i].text); {
		case share > most+almost:
			best = i
			most = share
		case share > most-almost:
			best = -1
		}
	}
	return best
}

// inCell returns the share of the question, from 0 to 1, that a text says, by the weight of the words.
func (g *Grounds) inCell(text string) (share float64) {
	for n, word := range g.asked {
		if hasWord(text, word) || inRange(text, word) {
			share += g.weigh[n] / g.all
		}
	}
	return share
}

// Support reports whether words of a passage, given by their bytes, can stand alone as the answer. They must be a
// number or a name of at most mostOfFact words (isFact), in a sentence that says at least as much of the question as
// any unit, and no other number of the sentence may be as near to a word of the question (hasRival): in "25 crowns, the
// digger for 60" the words "25 crowns" are not the price of the digger.
func (g *Grounds) Support(passage, begin, end int) bool {
	for i := range g.units {
		u := &g.units[i]
		if u.passage == passage && u.begin <= begin && begin < u.end {
			return u.header == nil && end <= u.end && u.share > 0 && u.share > g.highest-almost &&
				isFact(u.words, begin-u.begin, end-u.begin) && !g.hasRival(u, begin, end)
		}
	}
	return false
}

// mostOfFact is the greatest number of words of a fact (isFact).
const mostOfFact = 6

// isFact reports whether the words of a sentence between two bytes, counted from its beginning, are at most mostOfFact,
// and one of them is a number or has a capital letter and is not the first word of the sentence.
func isFact(words []content.WordIn, begin, end int) bool {
	few := 0
	tells := false
	for i, w := range words {
		if w.Begin < begin || w.End > end {
			continue
		}
		few++
		_, number := valueOf(w.Lower)
		tells = tells || number || w.Capital && i > 0 || content.HasDigit(w.Lower)
	}
	return tells && few <= mostOfFact
}

// hasRival reports whether a number of a unit outside the bytes from begin to end is as near to a word of the question
// as the words there, or nearer. It returns false if there is no number among the words there.
func (g *Grounds) hasRival(u *unit, begin, end int) bool {
	first, last := -1, -1
	counts := false
	var numbers []int
	for i, w := range u.words {
		inside := u.begin+w.Begin >= begin && u.begin+w.End <= end
		_, number := valueOf(w.Lower)
		number = number || content.HasDigit(w.Lower)
		switch {
		case inside:
			if first < 0 {
				first = i
			}
			last = i
			counts = counts || number
		case number:
			numbers = append(numbers, i)
		}
	}
	if !counts {
		return false
	}
	for i, w := range u.words {
		if i >= first && i <= last || !g.isAsked(w.Lower) {
			continue
		}
		own := min(distance(i, first), distance(i, last))
		if slices.ContainsFunc(numbers, func(n int) bool { return n != i && distance(i, n) <= own }) {
			return true
		}
	}
	return false
}

// isAsked reports whether a word is one of the question's and not a function word.
func (g *Grounds) isAsked(word string) bool {
	for n, asked := range g.asked {
		if sameWord(word, asked) {
			return !g.function[n]
		}
	}
	return false
}

// distance returns the number of words from one index to another.
func distance(a, b int) int { return max(a-b, b-a) }
