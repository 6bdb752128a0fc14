package grounds

import (
	"math"
	"slices"
	"unicode/utf8"

	"example.org/conclave/search/internal/answering/naming"
	"example.org/conclave/search/internal/content"
)

// Grounds are the units of some passages, by how much of a question they say.
type Grounds struct {
	asked []string  // the question's words that carry meaning
	weigh []float64 // how rare each is among the units
	all   float64   // sum of weigh
	units []unit
	highest,
	highestSentence float64 // said of a unit, and of a sentence
}

// Find returns the grounds of texts, the passages of an answer in their order, for a question. function are the
// question's function words in lower case; nil: they are not known.
func Find(question string, function []string, texts []string) *Grounds {
	g := &Grounds{}
	for _, w := range content.WordsIn(question) {
		if !slices.Contains(function, w.Lower) && !slices.Contains(g.asked, w.Lower) {
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

// has reports whether a unit or its header has a word.
func (u *unit) has(word string) bool {
	return slices.ContainsFunc(u.words, func(w content.WordIn) bool { return sameWord(w.Lower, word) }) ||
		slices.ContainsFunc(u.header, func(c cell) bool { return hasWord(c.text, word) })
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

// Row returns the row of a table that says more of the question than each other row and each sentence, and whose first
// cell says a part of it. ok is false if there is none. Its column is the one whose heading says most of the question,
// or the only one. A row of another passage than the first counts only with its column.
func (g *Grounds) Row() (row Row, ok bool) {
	var best *unit
	ties := false
	for i := range g.units {
		u := &g.units[i]
		if u.header == nil || g.inCell(u.cells[0].text) == 0 {
			continue
		}
		switch {
		case best == nil || u.said > best.said+almost:
			best = u
			ties = false
		case u.said > best.said-almost:
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
	return row, row.Column >= 0 && row.CellEnd > row.CellBegin || best.passage == 0
}

// almost is how much two shares of a question differ that are equal but for rounding.
const almost = 1e-9

// column returns the column of a row whose heading says most of the question, or the only one behind the first; -1 if
// several say as much.
func (g *Grounds) column(u *unit) int {
	if len(u.header) == 2 {
		return 1
	}
	best := -1
	most := 0.0
	for i := 1; i < len(u.header); i++ {
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
		if hasWord(text, word) {
			said += g.weigh[n] / g.all
		}
	}
	return said
}

// Support reports whether words of a passage stand in the unit that says most of the question, of all passages, and
// whether no other number of that unit is nearer to a word of the question than these words are. In "25 crowns, the
// digger for 60" the words "25 crowns" are not what is said of the digger.
func (g *Grounds) Support(passage, begin, end int) bool {
	for i := range g.units {
		u := &g.units[i]
		if u.passage == passage && u.begin <= begin && begin < u.end {
			return u.said > 0 && u.said > g.highest-almost && (u.header != nil || !g.rivals(u, begin, end))
		}
	}
	return false
}

// rivals reports whether a number of a unit beside the words from begin to end is nearer to a word of the question than
// they are. Words without a number have no rivals.
func (g *Grounds) rivals(u *unit, begin, end int) bool {
	first, last := -1, -1
	counts := false
	var numbers []int
	for i, w := range u.words {
		inside := u.begin+w.Begin >= begin && u.begin+w.End <= end
		number := content.HasDigit(w.Lower) || naming.WrittenValue(w.Lower) != ""
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
		if i >= first && i <= last || !slices.ContainsFunc(g.asked, func(word string) bool { return sameWord(w.Lower, word) }) {
			continue
		}
		own := min(distance(i, first), distance(i, last))
		if slices.ContainsFunc(numbers, func(n int) bool { return n != i && distance(i, n) < own }) {
			return true
		}
	}
	return false
}

// distance returns how far two words are apart.
func distance(a, b int) int { return max(a-b, b-a) }
