package documents

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// listLevels is the largest number of levels of a list: 9 in Word and PowerPoint, 10 in OpenDocument.
const listLevels = 10

// numberLevel is the numbering of one level of a list.
type numberLevel struct {
	start  int
	format string // "decimal", "lowerRoman" and the like
	text   string // "%1.%2": what stands before an item; %1 is the number of the first level
}

// numberedList is a list of Word and the numbers that its items have reached.
type numberedList struct {
	levels [listLevels]numberLevel
	counts [listLevels]int
	begun  [listLevels]bool
}

// docxNumbers are the numbered lists of a file, by list id.
type docxNumbers struct {
	lists  map[string]*numberedList // several ids may have one list
	starts map[string]map[int]int   // by list id: levels whose numbers restart, and with which number
	styles map[string]styleNumber   // what a style's paragraphs are numbered by, where a list says so
}

// readNumbers reads the numbering part of a Word file, which defines its lists; a nil part has none. The error is
// an *UnreadableError if its XML is damaged.
func readNumbers(part []byte) (*docxNumbers, error) {
	n := &docxNumbers{
		lists:  map[string]*numberedList{},
		starts: map[string]map[int]int{},
		styles: map[string]styleNumber{},
	}
	abstract := map[string]*numberedList{}
	linked := map[string]map[string]int{} // of an abstract list: styles and their levels
	var list *numberedList
	var id, abstractID string
	level := -1
	err := newElements(part).each(func(e xml.StartElement) bool {
		number, err := strconv.Atoi(value(e, "val"))
		switch e.Name.Local {
		case "abstractNum":
			list = &numberedList{}
			abstractID = value(e, "abstractNumId")
			abstract[abstractID] = list
			linked[abstractID] = map[string]int{}
		case "num":
			list = nil
			id = value(e, "numId")
			n.starts[id] = map[int]int{}
		case "abstractNumId":
			n.lists[id] = abstract[value(e, "val")]
			for style, at := range linked[value(e, "val")] {
				if _, known := n.styles[style]; !known {
					n.styles[style] = styleNumber{id, at}
				}
			}
		case "lvl", "lvlOverride":
			level = -1
			if at, err := strconv.Atoi(value(e, "ilvl")); err == nil && at >= 0 && at < listLevels {
				level = at
			}
			if e.Name.Local == "lvl" && list != nil && level >= 0 {
				list.levels[level] = numberLevel{start: 1, format: "decimal"}
			}
		case "startOverride":
			if id != "" && level >= 0 && err == nil {
				n.starts[id][level] = number
			}
		}
		if list == nil || level < 0 {
			return false
		}
		switch e.Name.Local {
		case "start":
			if err == nil && number >= 0 {
				list.levels[level].start = number
			}
		case "numFmt":
			list.levels[level].format = value(e, "val")
		case "lvlText":
			list.levels[level].text = value(e, "val")
		case "pStyle":
			linked[abstractID][value(e, "val")] = level
		}
		return false
	}, func(string) {}, func(xml.EndElement) {})
	return n, err
}

// next returns the number of the next item of a list, such as "2.1", and advances the list. It is "" if the list
// has bullets or is unknown, the level, from 0, is out of range, or n is nil.
func (n *docxNumbers) next(id string, level int) string {
	if n == nil || level < 0 || level >= listLevels {
		return ""
	}
	list := n.lists[id]
	if list == nil {
		return ""
	}
	for at, start := range n.starts[id] {
		list.counts[at], list.begun[at] = start, false
		list.levels[at].start = start
		delete(n.starts[id], at)
	}
	return list.next(level)
}

// next returns the number of the next item at a level from 0, such as "2.1", and advances the list; the levels
// below begin again. It is "" if the level has no number or one of more than 50 bytes.
func (list *numberedList) next(level int) string {
	if list.begun[level] {
		list.counts[level]++
	} else {
		list.counts[level] = list.levels[level].start
		list.begun[level] = true
	}
	for below := level + 1; below < listLevels; below++ {
		list.begun[below] = false
	}
	l := list.levels[level]
	if l.format == "bullet" || l.format == "none" || l.format == "" {
		return ""
	}
	text := l.text
	for above := range level + 1 {
		mark := "%" + strconv.Itoa(above+1)
		if !strings.Contains(text, mark) {
			continue
		}
		if !list.begun[above] {
			list.counts[above] = list.levels[above].start
			list.begun[above] = true
		}
		text = strings.ReplaceAll(text, mark, formatNumber(list.counts[above], list.levels[above].format))
	}
	if len(text) > 50 {
		return ""
	}
	return text
}

// formatNumber returns a number in one of Word's formats, such as "lowerRoman"; in digits if the format is unknown
// or cannot write it, as Roman digits cannot write 0. "lowerLetter" goes on after z with aa, bb, and "lowerColumn"
// with aa, ab.
func formatNumber(n int, format string) string {
	upper := strings.HasPrefix(format, "upper")
	switch {
	case strings.HasSuffix(format, "Roman") && n > 0 && n < 4000:
		return inCase(romanNumber(n), upper)
	case strings.HasSuffix(format, "Column") && n > 0:
		return inCase(columnLetters(n), upper)
	case strings.HasSuffix(format, "Letter") && n > 0 && n < 26*20:
		return inCase(strings.Repeat(string(rune('a'+(n-1)%26)), (n-1)/26+1), upper)
	case format == "decimalZero" && n < 10:
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// inCase returns the text in capitals if upper, else unchanged.
func inCase(text string, upper bool) string {
	if upper {
		return strings.ToUpper(text)
	}
	return text
}

// columnLetters returns a number from 1 as the columns of a spreadsheet are named: a to z, aa, ab; "" for less.
func columnLetters(n int) string {
	letters := ""
	for ; n > 0; n = (n - 1) / 26 {
		letters = string(rune('a'+(n-1)%26)) + letters
	}
	return letters
}

// romanNumber returns a number from 1 to 3999 in small Roman digits.
func romanNumber(n int) string {
	var b strings.Builder
	for _, d := range []struct {
		value int
		digit string
	}{
		{1000, "m"}, {900, "cm"}, {500, "d"}, {400, "cd"}, {100, "c"}, {90, "xc"},
		{50, "l"}, {40, "xl"}, {10, "x"}, {9, "ix"}, {5, "v"}, {4, "iv"}, {1, "i"},
	} {
		for ; n >= d.value; n -= d.value {
			b.WriteString(d.digit)
		}
	}
	return b.String()
}
