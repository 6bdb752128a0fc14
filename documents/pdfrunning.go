package documents

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// edge is the share of a page's height, at the top and at the bottom, where running heads and page numbers stand.
const edge = 0.12

// What makes a line a running head.
const (
	headPages   = 3  // least number of pages with it; two for a mere page number
	headShare   = 30 // and least percentage of the pages
	farthestNum = 20 // largest difference of a page number among words from the page's index
)

// runningLine is a line of a page in a form that is equal on all pages with the same running head.
type runningLine struct {
	text   string // in lower case; "#" stands for the page number
	offset int    // page number minus index of the page; 0 without a page number
	place  int    // its height on the page, in steps of 8 points
}

var (
	numberInLine = regexp.MustCompile(`\d{1,6}`)
	// pageNumber matches a line that is the number of its page, without words: "12", "- 12 -", "12/30".
	pageNumber = regexp.MustCompile(`^[^\p{L}#]*#[^\p{L}#]*$`)
	// pageOfAll matches one that names it and how many there are: "Page 12 of 30".
	pageOfAll = regexp.MustCompile(`^\W*\p{L}{1,9}\.? #(?: \p{L}{1,4} | ?[/|] ?)(\d{1,5})\W*$`)
	romanPage = regexp.MustCompile(`^\W*[ivxlc]{1,7}\W*$`)
)

// runningForms returns the forms by which a line is compared with lines of other pages: its text, and its text with
// one number replaced by "#", for each of the first four numbers that may be the page number. It is nil if the line
// is not at the top or bottom of the page, is blank or has no known place. index is the page's, from 0; pages is
// how many there are.
func runningForms(line pdfLine, page pdfPage, index, pages int) (forms []runningLine) {
	if page.Height == 0 || line.Size == 0 || line.Text == "" ||
		line.Bottom > page.Height*edge && line.Top < page.Height*(1-edge) {
		return nil
	}
	text := strings.ToLower(strings.Join(strings.Fields(line.Text), " "))
	place := int(math.Round(line.Bottom / 8))
	forms = append(forms, runningLine{text, 0, place})
	if romanPage.MatchString(text) {
		return append(forms, runningLine{"#", 0, place})
	}
	for n, at := range numberInLine.FindAllStringIndex(text, 4) {
		value, err := strconv.Atoi(text[at[0]:at[1]])
		if err != nil || n == 4 {
			break
		}
		form := runningLine{text[:at[0]] + "#" + text[at[1]:], value - index, place}
		if isPageNumber(form.text, form.offset, pages) ||
			form.offset <= farthestNum && form.offset >= -farthestNum {
			forms = append(forms, form)
		}
	}
	return forms
}

// isPageNumber reports whether a line, with "#" in place of its page number, is nothing but a page number, such as "- #
// -" or "Page # of 30". offset is that of runningLine.
func isPageNumber(text string, offset, pages int) bool {
	if pageNumber.MatchString(text) {
		return true
	}
	found := pageOfAll.FindStringSubmatch(text)
	return found != nil && found[1] == strconv.Itoa(pages+offset-1)
}

// dropRunning clears the running heads and page numbers of the pages: lines at the top or bottom that repeat
// exactly on at least headPages pages and headShare percent of them, or differ only in the page number. The first
// occurrence of a running head stays; words of tables are not touched. If more than half of the pages would have no
// line left, what has words stays on these: it is their text. Cleared lines stay in their places as empty ones. It
// returns a warning that says how many lines were dropped; "" if none.
func dropRunning(pages []pdfPage) (warning string) {
	if len(pages) < 2 {
		return ""
	}
	on := map[runningLine]int{} // pages
	for i, page := range pages {
		seen := map[runningLine]bool{}
		for _, line := range page.Lines {
			for _, form := range runningForms(line, page, i, len(pages)) {
				if !seen[form] {
					seen[form] = true
					on[form]++
				}
			}
		}
	}
	type running struct {
		at    int  // of the line
		alone bool // it is a mere page number
	}
	heads := make([][]running, len(pages))
	kept := map[runningLine]bool{}
	emptied := 0 // pages
	empty := make([]bool, len(pages))
	for i := range pages {
		lines := 0
		for at, line := range pages[i].Lines {
			if strings.TrimSpace(line.Text) != "" {
				lines++
			}
			for _, form := range runningForms(line, pages[i], i, len(pages)) {
				n := on[form]
				for _, near := range []int{-1, 1} { // on the border between two places
					n = max(n, on[runningLine{form.text, form.offset, form.place + near}])
				}
				alone := isPageNumber(form.text, form.offset, len(pages))
				if n < headPages && !(alone && n >= 2) || n*100 < len(pages)*headShare {
					continue
				}
				same := runningLine{text: form.text, offset: form.offset}
				if !alone && !kept[same] {
					kept[same] = true
					break
				}
				heads[i] = append(heads[i], running{at, alone})
				break
			}
		}
		empty[i] = lines > 0 && len(heads[i]) == lines
		if empty[i] {
			emptied++
		}
	}
	dropped, first, number := 0, "", false
	for i := range pages {
		for _, head := range heads[i] {
			if empty[i] && !head.alone && 2*emptied > len(pages) {
				continue
			}
			dropped++
			if first == "" || number && !head.alone {
				first = strings.TrimSpace(pages[i].Lines[head.at].Text)
				number = head.alone
			}
			pages[i].Lines[head.at] = pdfLine{}
		}
	}
	if dropped == 0 {
		return ""
	}
	return fmt.Sprintf(
		"%d lines at the top or foot of pages were left out, which repeat or are the page's number: %.80q", dropped,
		first,
	)
}

// leader matches a line of a table of contents: dots that lead to a page number at its end.
var leader = regexp.MustCompile(`(?:\.\s?){4,}\s*(?:\d+|[ivxlc]+)\s*$`)

// dropContents clears the lines of tables of contents: those with leader dots, on pages that have at least three of
// them. They would be found in place of the sections that they name. Cleared lines stay in their places as empty
// ones. It returns a warning that says how many lines were dropped; "" if none.
func dropContents(pages []pdfPage) (warning string) {
	dropped, first := 0, ""
	for i := range pages {
		count := 0
		for _, line := range pages[i].Lines {
			if leader.MatchString(line.Text) {
				count++
			}
		}
		if count < 3 {
			continue
		}
		for k, line := range pages[i].Lines {
			if leader.MatchString(line.Text) {
				dropped++
				if first == "" {
					first = strings.TrimSpace(line.Text)
				}
				pages[i].Lines[k] = pdfLine{}
			}
		}
	}
	if dropped == 0 {
		return ""
	}
	return fmt.Sprintf("%d lines of a table of contents were left out: %.80q", dropped, first)
}
