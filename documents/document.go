// Package documents reads the files that people have (Formats; in folders and archives) into one
// form, and cuts them into passages.
//
// Words used here:
//
//   - document: what was read from one file, or from one member of an archive;
//   - block: a heading, a paragraph, an item of a list, a row of a table or the like;
//   - heading path: the headings that a place stands below, the highest first.
//
// Nothing outside the file is read, and nothing is fetched. Every reader keeps the
// bounds of Limits; what is beyond them is refused with *UnreadableError and never cut
// silently.
package documents

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Kind says what a block is.
type Kind uint8

// The kinds of blocks.
const (
	Heading Kind = iota + 1
	Paragraph
	Item    // of a list
	Row     // of a table
	Code    // lines whose white space counts
	Caption // of a figure or a table
	Note    // a footnote, or what a speaker says to a slide
)

var kindNames = [...]string{
	Heading:   "heading",
	Paragraph: "paragraph",
	Item:      "item",
	Row:       "row",
	Code:      "code",
	Caption:   "caption",
	Note:      "note",
}

// String returns the kind's name in English: "heading", "paragraph". It panics for a value that is none of the
// kinds.
func (k Kind) String() string { return kindNames[k] }

// Block is a piece of a document, such as a paragraph or a row of a table. Its kind says which.
type Block struct {
	Kind Kind
	// Level is the level of a heading, 1 for the highest, or of a list item, 1 if its list is in no other list.
	Level int
	// Header is the row of column names of a row's table; "" if unknown.
	Header string
	// Page is the page, slide or sheet that the block begins on, from 1; 0 where the
	// format has none.
	Page int
	// PageEnd is the page that the block ends on; 0 where that is Page.
	PageEnd int
	// Begin and End are the block's bytes in Document.Text.
	Begin, End int
}

// Document is what was read from a file.
type Document struct {
	Title     string // from readers: the title in the file; later the chosen one (chooseTitle); "": none
	MediaType string
	Text      string // the texts of all blocks, in reading order
	Blocks    []Block
	Pages     int // pages, slides or sheets; 0 where the format has none
	// Recognised is tesseract's confidence, from 0 to 100, by the number of each page whose letters it recognised; nil
	// if there are none.
	Recognised map[int]int
	Warnings   []string // what was left out, and what is doubtful

	pieces []Piece // the result of Cut for passages of cutAt words; not cut if cutAt is 0
	cutAt  int
}

// cutInto cuts the document into pieces for passages of about so many words, and keeps them for PassagesOf. It
// returns an *UnreadableError if there are more than mostPassages.
func (d *Document) cutInto(words int) error {
	d.pieces, d.cutAt = Cut(d, words, sizeOf), words
	if n := len(d.pieces); n > mostPassages {
		return unreadable(
			TooLarge, nil, "it would be cut into %d passages, more than the %d of one document", n, mostPassages,
		)
	}
	return nil
}

// mostPassages bounds the passages of a document. A book of a thousand pages has some 5,000.
const mostPassages = 100_000

// TextOf returns a block's text.
func (d *Document) TextOf(b Block) string { return d.Text[b.Begin:b.End] }

// Limits bound what reading one file may take. Beyond them a file is refused with an *UnreadableError.
type Limits struct {
	FileBytes     int64         // of the file
	UnpackedBytes int64         // of all parts of a file that is an archive inside, such as DOCX, together
	TextBytes     int           // of the text
	Blocks        int           // of the document
	Time          time.Duration // for one file
	Depth         int           // of archives in archives and mails in mails
	Members       int           // files in an archive
}

// Reason says why a file was not read.
type Reason string

// The reasons.
const (
	Encrypted   Reason = "encrypted"        // a password is needed
	NoText      Reason = "no_text"          // images alone, or nothing
	Damaged     Reason = "damaged"          // not what its format demands
	TooLarge    Reason = "too_large"        // beyond Limits
	TooSlow     Reason = "too_slow"         // beyond Limits.Time
	Unsupported Reason = "unsupported_type" // a type of file that is not read
)

// UnreadableError says why a file was not read; other files may still be.
type UnreadableError struct {
	Reason Reason
	Detail string
	Err    error // the cause; nil if Detail says all
}

// Error returns the Detail, with the Err behind it if there is one.
func (e *UnreadableError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.Detail, e.Err)
	}
	return e.Detail
}

// Unwrap returns the cause; nil if there is none.
func (e *UnreadableError) Unwrap() error { return e.Err }

// unreadable returns an *UnreadableError whose Detail is formatted. err is its cause and may be nil.
func unreadable(reason Reason, err error, format string, args ...any) error {
	return &UnreadableError{Reason: reason, Detail: fmt.Sprintf(format, args...), Err: err}
}

// writer collects the blocks of a document. It cleans their texts: white space becomes single spaces, except in code,
// and invisible characters for line breaking are dropped.
type writer struct {
	limits      Limits
	text        strings.Builder
	blocks      []Block
	page        int
	pageEnd     int    // of the next block; 0 where that is page
	err         error  // the first bound that was passed
	cells       int    // of a workbook's sheets, so far
	longHeading bool   // the warning about a heading longer than longestHeading was given
	encoding    string // the known encoding of the text (Input.Encoding); "": unknown
	// warnings name what was left out of the text, and what is doubtful.
	warnings []string
}

// mostWarnings bounds the warnings of a document.
const mostWarnings = 50

// warn adds a warning to the document. Beyond mostWarnings it does nothing.
func (w *writer) warn(format string, args ...any) {
	if len(w.warnings) < mostWarnings {
		w.warnings = append(w.warnings, fmt.Sprintf(format, args...))
	}
}

// add appends a block; kind 0 is a paragraph, and level is that of a heading or item, else 0. It does nothing if
// the text is blank or a limit was exceeded before. If the text is beyond the limits it sets w.err, and the
// document is refused.
func (w *writer) add(kind Kind, level int, text string) { w.addRow(kind, level, "", text) }

// addRow appends a block of text; kind 0 is a paragraph, and level is that of a heading or item, else 0. header is the
// row of column names that a row of a table stands below, already clean; "" if there is none. It does nothing if the
// text is blank or a limit was exceeded before. If the text is beyond the limits it sets w.err, and the document is
// refused.
func (w *writer) addRow(kind Kind, level int, header, text string) {
	if kind == Code {
		text = strings.Trim(strings.ToValidUTF8(stripControl(text), ""), "\n")
	} else {
		text = clean(text)
	}
	if strings.TrimSpace(text) == "" || w.err != nil {
		return
	}
	kind = cmp.Or(kind, Paragraph) // of text that is in no element of a kind
	separator := "\n\n"
	if n := len(w.blocks); n == 0 {
		separator = ""
	} else if last := w.blocks[n-1]; kind == last.Kind && (kind == Item || kind == Row) {
		separator = "\n"
	}
	if kind == Heading && len(text) > longestHeading && !w.longHeading {
		w.longHeading = true
		w.warn("a heading has %d bytes: before passages stand the first %d", len(text), longestHeading)
	}
	if len(w.blocks) >= w.limits.Blocks || w.text.Len()+len(separator)+len(text) > w.limits.TextBytes {
		w.refuse()
		return
	}
	w.text.WriteString(separator)
	begin := w.text.Len()
	w.text.WriteString(text)
	w.blocks = append(
		w.blocks, Block{Kind: kind, Level: level, Header: header, Page: w.page, Begin: begin, End: w.text.Len()},
	)
	if w.pageEnd > w.page {
		w.blocks[len(w.blocks)-1].PageEnd = w.pageEnd
	}
}

// refuse records the error that the file has more text than the limits allow, unless there is an error already.
func (w *writer) refuse() {
	if w.err == nil {
		w.err = unreadable(
			TooLarge, nil,
			"it has more text than is read of one file (%d blocks, %d bytes: documents.blocks, documents.text_bytes)",
			w.limits.Blocks, w.limits.TextBytes,
		)
	}
}

// titled returns a title, shortened to longestTitle bytes with a warning if it is longer.
func (w *writer) titled(title string) string {
	if len(title) > longestTitle {
		w.warn("its title has %d bytes: before passages stand the first %d", len(title), longestTitle)
	}
	return cutShort(title, longestTitle)
}

// longestTitle bounds the title of a document, and longestHeading a heading, in bytes, where they stand before
// each passage. The text has them whole.
const (
	longestTitle   = 500
	longestHeading = 300
)

// cutShort returns a text shortened to at most so many bytes, at least 3, ending in "…" if something was cut off.
// No character is cut in two.
func cutShort(text string, most int) string {
	if len(text) <= most {
		return text
	}
	n := most - len("…")
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}

// document returns the collected document, whose Pages is the number of the page that was written last. The error
// is an *UnreadableError if a limit was exceeded or there is no text.
func (w *writer) document(mediaType, title string) (*Document, error) {
	if w.err != nil {
		return nil, w.err
	}
	if len(w.blocks) == 0 {
		return nil, unreadable(NoText, nil, "it holds no text")
	}
	w.settleNotes()
	title = undecided.Replace(title)
	return &Document{
		Title:     w.titled(clean(title)),
		MediaType: mediaType,
		Text:      w.text.String(),
		Blocks:    w.blocks,
		Pages:     w.page,
		Warnings:  w.warnings,
	}, nil
}
