package generators

import (
	"regexp"
	"strings"
)

// block is a paragraph, an item of a list or a row of a table of a text in Markdown: text[begin:end], without the
// marks of the list and the outer bars of the row.
type block struct {
	begin, end int
	row        bool
}

// Lines of Markdown that begin a block, or are none.
var (
	itemLine      = regexp.MustCompile(`^[ \t]*(?:(?:[-*+•–]|\d{1,3}[.)]|[a-zA-Z][.)])[ \t]+|>[ \t]?)+`)
	headingLine   = regexp.MustCompile(`^ {0,3}#{1,6}(?:[ \t]|$)`)
	fenceLine     = regexp.MustCompile("^ {0,3}(?:```|~~~)")
	rowLine       = regexp.MustCompile(`^\s*\|`)
	separatorLine = regexp.MustCompile(`^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$`)
)

// blocksOf returns the paragraphs, items and rows of a text in Markdown, in order. Headings, the header rows of
// tables and code are left out.
func blocksOf(text string) (blocks []block) {
	at := 0
	fenced := false
	open := false // the last block may go on with the next line
	header := -1  // index of the last block if it is the first row of a table
	for line := range strings.Lines(text) {
		begin := at
		at += len(line)
		content := strings.TrimRight(line, "\r\n")
		if fenceLine.MatchString(content) {
			fenced = !fenced
			open = false
			continue
		}
		switch {
		case fenced, strings.TrimSpace(content) == "", headingLine.MatchString(content):
			open = false
		case rowLine.MatchString(content) && separatorLine.MatchString(content):
			if header == len(blocks)-1 && header >= 0 {
				blocks = blocks[:header]
			}
			open = false
		case rowLine.MatchString(content):
			header = len(blocks)
			if len(blocks) > 0 && blocks[len(blocks)-1].row && !strings.Contains(text[blocks[len(blocks)-1].end:begin], "\n\n") {
				header = -1
			}
			row := rowOf(content)
			blocks = append(blocks, block{begin + row.begin, begin + row.end, true})
			open = false
		default:
			mark := len(itemLine.FindString(content))
			if open && mark == 0 {
				blocks[len(blocks)-1].end = begin + len(content)
				continue
			}
			blocks = append(blocks, block{begin + mark, begin + len(content), false})
			open = true
		}
	}
	return blocks
}

// rowOf returns where the cells of a row of a table lie in its line, without the outer bars and white space.
func rowOf(line string) block {
	begin := strings.Index(line, "|") + 1
	end := len(strings.TrimRight(line, " \t"))
	if end > begin && line[end-1] == '|' {
		end--
	}
	cells := line[begin:end]
	trimmed := strings.TrimSpace(cells)
	if trimmed == "" {
		return block{begin, begin, true}
	}
	begin += strings.Index(cells, trimmed)
	return block{begin, begin + len(trimmed), true}
}
