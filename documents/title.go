package documents

import (
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Where a title is looked for.
const (
	titleWithin  = 1000 // bytes of the text that a title's words are compared with
	titleLooks   = 100  // blocks whose headings are compared with it
	titleBlocks  = 6    // the first blocks that a heading may be among to be the title, where there are no pages
	longestNamed = 200  // bytes of a heading that may be a title
)

// chooseTitle returns the title of a document, the first of:
//
//  1. named, the title in the file, if enough of its words are in the beginning of the text, the first headings or the
//     file's name: programs often write useless titles there;
//  2. the highest heading at the beginning (titleHeading);
//  3. the file's name without its ending (titleOfFile);
//  4. named, if it has a letter and is no file name.
//
// It is "" if there is none of these.
func chooseTitle(d *Document, named, file string) string {
	named = clean(named)
	fileTitle := titleOfFile(file)
	if named != "" && !strings.Contains(named, "@") &&
		saysWords(named, enoughWords(d.MediaType), beginningOf(d), fileTitle) {
		return named
	}
	for _, title := range []string{titleHeading(d), fileTitle} {
		if title != "" {
			return title
		}
	}
	if !strings.ContainsFunc(named, unicode.IsLetter) || pathEnding.MatchString(named) {
		return ""
	}
	return named
}

// pathEnding matches titles that are names of files.
var pathEnding = regexp.MustCompile(`(?i)^\S+\.[a-z0-9]{1,5}$`)

// enoughWords returns the share of a title's words that must be in the text. It is high for formats in which programs
// write the title, and low for pages, mails and books, where people do.
func enoughWords(mediaType string) float64 {
	switch mediaType {
	case PDF, DOCX, PPTX, XLSX, ODT, ODS, ODP, RTF:
		return 0.5
	}
	return 0.01
}

// beginningOf returns the beginning of a document's text, followed by its first headings.
func beginningOf(d *Document) string {
	var all strings.Builder
	all.WriteString(d.Text[:min(len(d.Text), titleWithin)])
	for i, b := range d.Blocks[:min(len(d.Blocks), titleLooks)] {
		if b.Kind == Heading && i > 0 {
			all.WriteString(" " + cutShort(d.TextOf(b), longestHeading))
		}
	}
	return all.String()
}

// saysWords reports whether the texts together have at least this share, from 0 to 1, of the title's words, and at
// least one; in any case of letters.
func saysWords(title string, share float64, texts ...string) bool {
	words := wordsOf(title)
	have := map[string]bool{}
	for _, text := range texts {
		for _, word := range wordsOf(text) {
			have[word] = true
		}
	}
	found := 0
	for _, word := range words {
		if have[word] {
			found++
		}
	}
	return found > 0 && float64(found) >= share*float64(len(words))
}

// wordsOf returns the words of a text in small letters: runs of letters, digits and marks.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// titleHeading returns the highest heading of the first page, or of the first blocks if there are no pages, that can be
// a title: it has three letters and is no address of a mail or page. "": there is none.
func titleHeading(d *Document) string {
	best := Block{}
	title := ""
	for i, b := range d.Blocks {
		if b.Page > 1 || d.Pages == 0 && i >= titleBlocks || i > 200 {
			break
		}
		if b.Kind != Heading || title != "" && b.Level >= best.Level {
			continue
		}
		text := d.TextOf(b)
		letters := 0
		for _, r := range text {
			if unicode.IsLetter(r) {
				letters++
			}
		}
		wide := utf8.RuneCountInString(text) > 0 && letters*3 >= utf8.RuneCountInString(text)
		if letters < 3 || !wide || len(text) > longestNamed || strings.Contains(text, "@") ||
			strings.Contains(text, "://") {
			continue
		}
		best, title = b, text
	}
	return title
}

// copyMark matches what programs put behind the name of a file: "(1)", "- copy", "_v2".
var copyMark = regexp.MustCompile(`(?i)(?:\s*\(\d+\)|[ _-]+copy|[ _-]+final|[ _-]v\d+)+$`)

// titleOfFile returns a file's name as a title: without folders, ending and marks of copies such as "(1)", with
// spaces for underscores. It is "" for a name without an ending, which may be any id, and for one with fewer than
// three letters or more digits than letters.
func titleOfFile(file string) string {
	base := path.Base(strings.ReplaceAll(pathOf(file), `\`, "/"))
	ending := path.Ext(base)
	if ending == "" || ending == base || len(ending) > 12 {
		return ""
	}
	name := copyMark.ReplaceAllString(strings.TrimSuffix(base, ending), "")
	name = strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '+' || r == ' ' }), " ")
	if !strings.Contains(name, " ") {
		name = strings.ReplaceAll(name, "-", " ")
	}
	letters, digits := 0, 0
	for _, r := range name {
		switch {
		case unicode.IsLetter(r):
			letters++
		case unicode.IsDigit(r):
			digits++
		}
	}
	if letters < 3 || digits > letters {
		return ""
	}
	return name
}
