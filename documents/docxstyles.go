package documents

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// docxStyles holds what the paragraph styles of a file mean, by style id.
type docxStyles struct {
	headings map[string]int // their levels
	lists    map[string]bool
	numbers  map[string]styleNumber
}

// styleNumber is the id of a list and a level in it, from 0.
type styleNumber struct {
	id    string
	level int
}

// readStyles returns which paragraph styles are headings, with their levels, which are list items, and the
// numbering of each. A style inherits from the style that it is based on, up to 16 styles away. A nil part has no
// styles; damaged XML is an *UnreadableError.
func readStyles(part []byte) (docxStyles, error) {
	s := docxStyles{headings: map[string]int{}, lists: map[string]bool{}, numbers: map[string]styleNumber{}}
	based := map[string]string{}
	id := ""
	err := newElements(part).each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "style":
			id = value(e, "styleId")
		case "outlineLvl":
			if n, err := strconv.Atoi(value(e, "val")); err == nil && n >= 0 && n < 9 && id != "" {
				s.headings[id] = n + 1
			}
		case "name": // Word's own headings have their level from their name
			name := strings.ToLower(value(e, "val"))
			if n, err := strconv.Atoi(strings.TrimPrefix(name, "heading ")); err == nil && n >= 1 && n <= 9 &&
				id != "" {
				s.headings[id] = n
			}
			if name == "title" && id != "" {
				s.headings[id] = 1
			}
		case "numPr":
			if id != "" {
				s.lists[id] = true
			}
		case "numId":
			if id != "" {
				s.numbers[id] = styleNumber{value(e, "val"), s.numbers[id].level}
			}
		case "ilvl":
			if n, err := strconv.Atoi(value(e, "val")); err == nil && id != "" {
				s.numbers[id] = styleNumber{s.numbers[id].id, n}
			}
		case "basedOn":
			based[id] = value(e, "val")
		}
		return false
	}, func(string) {}, func(e xml.EndElement) {
		if e.Name.Local == "style" {
			id = ""
		}
	})
	for style := range based {
		for at, steps := based[style], 0; at != "" && steps < 16; at, steps = based[at], steps+1 {
			if s.headings[style] == 0 && s.headings[at] > 0 {
				s.headings[style] = s.headings[at]
			}
			s.lists[style] = s.lists[style] || s.lists[at]
			if inherited, known := s.numbers[at]; known && s.numbers[style].id == "" {
				s.numbers[style] = inherited
			}
		}
	}
	return s, err
}
