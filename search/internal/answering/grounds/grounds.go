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

// Grounds are the units of some passages, by how much of a question they say.
type Grounds struct {
	asked    []string  // the question's words, each once
	function []bool    // whether each is a function word
	weigh    []float64 // how rare each is among the units; of function words little of that
	all      float64   // sum of weigh
	units    []unit
	highest,
	highestSentence float64 // said of a unit, and of a sentence
}

// Find returns the grounds of texts, the passages of an answer in their order, for a question. function are the
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
				u.said += g.weigh[n] / g.all
			}
		}
		g.highest = max(g.highest, u.said)
		if u.header == nil {
			g.highestSentence = max(g.highestSentence, u.said)
		}
	}
	return g
}

// functionWeight is how much a function word counts beside another word that is as rare: it decides between units that
// say the same otherwise, such as the rows of the first and of the last ferry.
const functionWeight = .1

// has reports whether a unit or its header has a word. A row whose first cell is a range, such as "3 to 5", has the
// numbers between.
func (u *unit) has(word string) bool {
	return len(u.cells) > 0 && inRange(u.cells[0].text, word) ||
		slices.ContainsFunc(u.words, func(w content.WordIn) bool { return sameWord(w.Lower, word) }) ||
		slices.ContainsFunc(u.header, func(c cell) bool { return hasWord(c.text, word) })
}

// inRange reports whether a text has two numbers, and a word is one between them.
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

// valueOf returns the value of a number in digits or as a word in lower case; ok is false for other words.
func valueOf(word string) (value int, ok bool) {
	value, err := strconv.Atoi(cmp.Or(naming.WrittenValue(word), word))
	return value, err == nil
}

// hasWord reports whether a text has a word.
func hasWord(text, word string) bool {
	return slices.ContainsFunc(content.WordsIn(text), func(w content.WordIn) bool { return sameWord(w.Lower, word) })
}

// sameWord reports whether two words in lower case are equal or differ in their ending alone, as fillings and filled.
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
	leastStem     = 3 // letters that forms of one word share at least
	longestEnding = 3 // letters behind these
)

// Row is a row of a table.
type Row struct {
	Passage    int
	Begin, End int // in the text of the passage
	Header     []string
	Cells      []string
	Column     int // the cell that answers; -1: it is not known
	// CellBegin and CellEnd are where that cell stands; 0 if it is not known.
	CellBegin, CellEnd int
}

// leastSaid is the least share of the question that a row says which answers it.
const leastSaid = .3

// Row returns the row of a table that says more of the question than each other row and each sentence, beside its
// header. ok is false if there is none. Its column is the one whose heading says most of the question, or the only one
// beside the cell that the row is found by. counts says which passages' rows count.
func (g *Grounds) Row(counts func(passage int) bool) (row Row, ok bool) {
	var best *unit
	most := 0.0
	ties := false
	for i := range g.units {
		u := &g.units[i]
		if u.header == nil || !counts(u.passage) {
			continue
		}
		subject := g.subject(u)
		if subject < 0 {
			continue
		}
		switch score := u.said + subjectWeight*g.shareSaid(u.cells[subject].text); {
		case best == nil || score > most+almost:
			best = u
			most = score
			ties = false
		case score > most-almost:
			ties = true
		}
	}
	if best == nil || ties || best.said < leastSaid || best.said < g.highestSentence+almost {
		return Row{}, false
	}
	row = Row{Passage: best.passage, Begin: best.begin, End: best.end, Column: g.column(best)}
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

// almost is how much two shares of a question differ that are equal but for rounding.
const almost = 1e-9

// subjectWeight is how much it counts beside the share of the question that a row says, which share of the cell that it
// is found by is in the question: a question about the brewing unit is about the row
// "Brewing unit" rather than "Grease on the brewing unit".
const subjectWeight = .05

// subject returns the cell of a row that says most of the question; -1: none says a part of it.
func (g *Grounds) subject(u *unit) int {
	best := -1
	most := 0.0
	for i, c := range u.cells {
		if said := g.inCell(c.text); said > most+almost {
			best = i
			most = said
		}
	}
	return best
}

// shareSaid returns the share of the words of a text that the question has.
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

// column returns the column of a row whose heading says most of the question, or the only one beside the subject; -1 if
// several say as much.
func (g *Grounds) column(u *unit) int {
	subject := g.subject(u)
	if len(u.header) == 2 {
		return 1 - subject
	}
	best := -1
	most := 0.0
	for i := range u.header {
		if i == subject {
			continue
		}
		switch said := g.inCell(u.header[i].text); {
		case said > most+almost:
			best = i
			most = said
		case said > most-almost:
			best = -1
		}
	}
	return best
}

// inCell returns the share of the question that a text says.
func (g *Grounds) inCell(text string) (said float64) {
	for n, word := range g.asked {
		if hasWord(text, word) || inRange(text, word) {
			said += g.weigh[n] / g.all
		}
	}
	return said
}

// Support reports whether words of a passage may stand by themselves as the answer: a number or a name of a few words,
// in a sentence that says most of the question, of all units of all passages, and nearer to the question's words there
// than any other number of the sentence is. In "25 crowns, the digger for 60" the words "25 crowns" are not what is
// said of the digger.
func (g *Grounds) Support(passage, begin, end int) bool {
	for i := range g.units {
		u := &g.units[i]
		if u.passage == passage && u.begin <= begin && begin < u.end {
			return u.header == nil && end <= u.end && u.said > 0 && u.said > g.highest-almost &&
				isFact(u.words, begin-u.begin, end-u.begin) && !g.rivals(u, begin, end)
		}
	}
	return false
}

// mostOfFact is how many words a number or a name has at most.
const mostOfFact = 6

// isFact reports whether the words of a sentence from begin to end are few, and one of them is a number or begins with
// a capital letter inside of the sentence.
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

// rivals reports whether a number of a unit beside the words from begin to end is as near to a word of the question as
// they are, or nearer. Words without a number have no rivals.
func (g *Grounds) rivals(u *unit, begin, end int) bool {
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
		if i >= first && i <= last || !g.asks(w.Lower) {
			continue
		}
		own := min(distance(i, first), distance(i, last))
		if slices.ContainsFunc(numbers, func(n int) bool { return n != i && distance(i, n) <= own }) {
			return true
		}
	}
	return false
}

// asks reports whether a word is one of the question that is more than a function word.
func (g *Grounds) asks(word string) bool {
	for n, asked := range g.asked {
		if sameWord(word, asked) {
			return !g.function[n]
		}
	}
	return false
}

// distance returns how far two words are apart.
func distance(a, b int) int { return max(a-b, b-a) }
