package generators

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Forms in which models write citations: [1], [2, 3], [4][5] as asked, and 【1】, [^1], [1-3], [Passage 1], [source: 2],
// 【1†source】 and (Passage 1). In round brackets only the word that the prompt has counts, since (page 3) cites nothing.
var (
	bracketForm = regexp.MustCompile(
		`[\[【［]\s*(\^|#|\p{L}+[\s:_#]+)?(\d+(?:\s*[,;–-]\s*\d+)*)\s*(?:†[^\]】］\n]{0,32})?[\]】］]`)
	roundForm = regexp.MustCompile(`(?i)\(\s*passages?\s*\[?(\d+(?:\s*(?:[,;–&-]|and)\s*\d+)*)\]?\s*\)`)
	// openForm matches the end of a text that may go on as a citation.
	openForm = regexp.MustCompile(`(?i)(?:[\[【［][^\[\]【】［］\n]{0,48}|\((?:\s*p?[\pL\d\s,;–&\[\]-]{0,32})?)$`)
	// guardForm matches the mark between which the prompt has passages, and openGuard the end of a text that may become
	// one.
	guardForm = regexp.MustCompile(`\n?----[0-9a-f]{16}----`)
	openGuard = regexp.MustCompile(`\n?-{1,4}(?:[0-9a-f]{0,16}-{0,3})?$|\n$`)
	rangeForm = regexp.MustCompile(`(\d+)\s*[–-]\s*(\d+)`)
)

// citationReader rewrites the citations in what a model writes to the form [1][2], piece by piece, and takes out the
// marks of the prompt.
type citationReader struct {
	passages int    // how many there are: ranges of citations end there
	pending  string // the end of the text so far, which may become a citation or a mark
}

// rewritePiece takes the next piece of a text and returns the next part of the rewritten text, "" if it is not certain
// yet. ends reports that the piece is the last one.
func (c *citationReader) rewritePiece(piece string, ends bool) string {
	text := guardForm.ReplaceAllString(c.pending+piece, "")
	text = bracketForm.ReplaceAllStringFunc(text, func(form string) string {
		parts := bracketForm.FindStringSubmatch(form)
		if parts[1] != "" && !c.areNumbers(parts[2]) { // [ISO 9001] cites nothing
			return form
		}
		return c.rewriteNumbers(parts[2])
	})
	text = roundForm.ReplaceAllStringFunc(text, func(form string) string {
		return c.rewriteNumbers(roundForm.FindStringSubmatch(form)[1])
	})
	c.pending = ""
	if ends {
		return text
	}
	end := len(text)
	if at := openForm.FindStringIndex(text); at != nil {
		end = at[0]
	}
	if at := openGuard.FindStringIndex(text[:end]); at != nil {
		end = at[0]
	}
	c.pending = text[end:]
	return text[:end]
}

// areNumbers reports whether all numbers in a text are those of passages.
func (c *citationReader) areNumbers(numbers string) bool {
	return !slices.ContainsFunc(number.FindAllString(numbers, -1), func(digits string) bool {
		n, err := strconv.Atoi(digits)
		return err != nil || n < 1 || n > c.passages
	})
}

// rewriteNumbers returns numbers of passages, such as "1, 3-5", in the form [1][3][4][5]. A range of passages that are
// not there is written as its two ends.
func (c *citationReader) rewriteNumbers(numbers string) string {
	numbers = rangeForm.ReplaceAllStringFunc(numbers, func(form string) string {
		ends := rangeForm.FindStringSubmatch(form)
		first, err := strconv.Atoi(ends[1])
		last, err2 := strconv.Atoi(ends[2])
		if err != nil || err2 != nil || first > last || last > c.passages {
			return ends[1] + "," + ends[2]
		}
		var all []string
		for n := first; n <= last; n++ {
			all = append(all, strconv.Itoa(n))
		}
		return strings.Join(all, ",")
	})
	return "[" + strings.Join(number.FindAllString(numbers, -1), "][") + "]"
}
