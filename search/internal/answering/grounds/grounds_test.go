package grounds

import (
	"strings"
	"testing"
)

func all(int) bool { return true }

var function = strings.Fields("what is the a of does do i for in on how much to we my when that have has and")

const camp = `A night | May, June | July, August
Adult | 8.00 | 10.50
Hut for four | 58.00 | 79.00
Dog | 2.50 | 4.00

Dogs are not allowed in the huts. The washing machine takes 4 crowns, the dryer 3. Visitors pay 3 crowns.`

const years = `Years with us | Days
2 to 4 | 30
5 to 9 | 31`

const codes = `Code | What to do
E11 | Bleed the radiators
E23 | Refill with water`

// TestRow: the cell that a question asks for, or the row where the column is not said.
func TestRow(t *testing.T) {
	for question, want := range map[string]string{
		"what does the hut cost in July?":          "79.00",
		"how much is an adult in May":              "8.00",
		"what is the price of a hut for four":      "Hut for four | 58.00 | 79.00",
		"what do I do for E11?":                    "Bleed the radiators",
		"what is the price of the washing machine": "",
		"what do I get for three years?":           "30",
		"what do I get for seven years?":           "31",
		"what does a canoe cost in July":           "",
		"":                                         "",
	} {
		texts := []string{camp, codes}
		if strings.Contains(question, "E11") {
			texts = []string{codes, camp}
		}
		if strings.Contains(question, "years") {
			texts = []string{years}
		}
		row, ok := Find(question, function, texts).Row(all)
		got := ""
		if ok {
			got = texts[row.Passage][row.Begin:row.End]
		}
		if ok && row.Column >= 0 {
			got = texts[row.Passage][row.CellBegin:row.CellEnd]
			if got != row.Cells[row.Column] {
				t.Errorf("%q: %q is not in %q", question, got, row.Cells)
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", question, got, want)
		}
	}
}

// TestSupport: words count where most of the question is said, and only if they are the number that it is said of.
func TestSupport(t *testing.T) {
	for _, c := range []struct {
		question, words string
		want            bool
	}{
		{"what does the washing machine cost?", "4 crowns", true},
		{"what does the dryer cost?", "4 crowns", false},
		{"what do visitors pay?", "3 crowns", true},
		{"what do visitors pay?", "4 crowns", false},
		{"are dogs allowed in the huts?", "not allowed", false}, // neither a number nor a name
	} {
		begin := strings.Index(camp, c.words)
		if c.question == "what do visitors pay?" && c.want {
			begin = strings.LastIndex(camp, c.words)
		}
		if got := Find(c.question, function, []string{camp}).Support(0, begin, begin+len(c.words)); got != c.want {
			t.Errorf("%q, %q: %t", c.question, c.words, got)
		}
	}
}

// FuzzFind: no text makes it fail, and places are of the text.
func FuzzFind(f *testing.F) {
	f.Add("what does the hut cost in July?", camp)
	f.Add("E11", codes)
	f.Add("x", " | \n | |\n |\r\n")
	f.Fuzz(func(t *testing.T, question, text string) {
		g := Find(question, nil, []string{text})
		row, ok := g.Row(all)
		if ok && (row.Begin > row.End || row.End > len(text) || row.CellEnd > row.End) {
			t.Errorf("%+v", row)
		}
		g.Support(0, 0, len(text))
	})
}
