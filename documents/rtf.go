package documents

import (
	"strconv"
	"strings"

	"golang.org/x/text/encoding"
)

// deepestRTF is how deep groups may be nested.
const deepestRTF = 500

// rtfState holds the formatting within one group of RTF.
type rtfState struct {
	skip        bool // its text is not the document's
	unicodeSkip int  // characters behind \u that stand for it in programs that have no Unicode
	super       bool
	sub         bool
	footer      bool // its text is that of a header or footer
}

// rtfReader holds the state of reading RTF.
type rtfReader struct {
	w        *writer
	state    rtfState
	stack    []rtfState
	bytes    []byte // in the code page, to be decoded
	page     encoding.Encoding
	text     strings.Builder
	raised   strings.Builder // superscript or subscript letters
	level    int             // of a heading; 0 in a paragraph
	item     bool
	inTable  bool
	row      []string
	rows     [][]string
	title    string
	inTitle  bool
	skipping int // characters still to skip after \u
	left     leftOut
	footer   strings.Builder // the text of a header or footer
}

// rtfSkipped are the RTF groups whose text is not read.
var rtfSkipped = setOf(
	"fonttbl", "colortbl", "stylesheet", "info", "themedata", "colorschememapping", "latentstyles", "datastore",
	"generator", "listtable", "listoverridetable", "rsidtbl", "xmlnstbl", "filetbl", "revtbl", "fldinst", "bkmkstart",
	"bkmkend", "nonshppict", "mmathPr", "wgrffmtfilter",
)

// readRTF writes the blocks of Rich Text Format to w: paragraphs, headings by their outline level, lists and
// tables. It returns the title in the file's information; "" if it has none. Warnings count what is left out. The
// error is an *UnreadableError if groups are nested too deep or a limit is exceeded.
func readRTF(w *writer, text string) (string, error) {
	r := &rtfReader{w: w, state: rtfState{unicodeSkip: 1}}
	r.page, _ = encodingNamed("windows-1252")
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case '{':
			r.endBytes()
			if len(r.stack) >= deepestRTF {
				return "", unreadable(TooLarge, nil, "its groups are more than %d deep in each other", deepestRTF)
			}
			r.stack = append(r.stack, r.state)
			i++
		case '}':
			r.endBytes()
			r.endRaised()
			if n := len(r.stack); n > 0 {
				if r.state.footer && !r.stack[n-1].footer {
					r.left.addFooter(r.footer.String())
					r.footer.Reset()
				}
				r.state = r.stack[n-1]
				r.stack = r.stack[:n-1]
			}
			r.inTitle = r.inTitle && r.state.skip
			i++
		case '\\':
			i += r.control(text[i+1:]) + 1
		case '\r', '\n':
			i++
		default:
			r.put(c)
			i++
		}
		if w.err != nil {
			return "", w.err
		}
	}
	r.endBytes()
	r.endParagraph()
	r.endTable()
	r.left.name(w)
	return r.title, nil
}

// put collects a byte in the code page, unless it replaces a character that was read already or is in a group that
// is not read.
func (r *rtfReader) put(c byte) {
	if r.skipping > 0 {
		r.skipping--
		return
	}
	if r.state.skip && !r.inTitle && !r.state.footer {
		return
	}
	r.bytes = append(r.bytes, c)
}

// endBytes decodes the collected bytes and adds them to the text. Bytes that cannot be decoded are dropped.
func (r *rtfReader) endBytes() {
	if len(r.bytes) == 0 {
		return
	}
	text, err := r.page.NewDecoder().Bytes(r.bytes)
	if err == nil {
		r.say(string(text))
	}
	r.bytes = r.bytes[:0]
}

// say appends text to the title, the header or footer, the superscript or subscript, or the paragraph, whichever is
// being read. Text of other groups that are skipped is dropped.
func (r *rtfReader) say(text string) {
	switch {
	case r.inTitle:
		r.title += text
	case r.state.footer:
		r.footer.WriteString(text)
	case r.state.skip:
	case r.state.super || r.state.sub:
		r.raised.WriteString(text)
	default:
		r.text.WriteString(text)
	}
}

// endRaised appends the collected superscript or subscript to the paragraph, as an exponent or index.
func (r *rtfReader) endRaised() {
	if r.raised.Len() == 0 {
		return
	}
	before := r.text.String()
	if r.state.super {
		r.text.WriteString(writeRaised(before, r.raised.String()))
	} else {
		r.text.WriteString(writeLowered(before, r.raised.String()))
	}
	r.raised.Reset()
}

// control reads a control word or symbol, carries it out, and returns its length in bytes. text begins after its
// backslash. The data of \bin are skipped.
func (r *rtfReader) control(text string) int {
	if text == "" {
		return 0
	}
	end := 0
	for end < len(text) && asciiLetter(rune(text[end])) {
		end++
	}
	if end == 0 {
		return r.symbol(text)
	}
	word := text[:end]
	number := end
	if number < len(text) && text[number] == '-' {
		number++
	}
	for number < len(text) && isDigit(rune(text[number])) && number-end < 8 {
		number++
	}
	value, err := strconv.Atoi(text[end:number])
	has := err == nil
	if !has {
		number = end
	}
	end = number
	if end < len(text) && text[end] == ' ' {
		end++
	}
	if word == "bin" && has {
		return min(len(text), end+max(0, value))
	}
	r.endBytes()
	r.word(word, value, has)
	return end
}

// symbol reads a control symbol, such as \~, at the beginning of text and returns its length in bytes. Unknown
// symbols are ignored.
func (r *rtfReader) symbol(text string) int {
	switch text[0] {
	case '\'':
		if len(text) >= 3 {
			if b, err := strconv.ParseUint(text[1:3], 16, 8); err == nil {
				r.put(byte(b))
			}
			return 3
		}
	case '~':
		r.put(' ')
	case '_':
		r.put('-')
	case '{', '}', '\\':
		r.put(text[0])
	case '*':
		r.state.skip = true
	case '\n', '\r':
		r.endBytes()
		r.endParagraph()
	}
	return 1
}

// word carries out a control word, such as \par. has tells whether it has a numeric value; value is 0 if not.
// Unknown words are ignored.
func (r *rtfReader) word(word string, value int, has bool) {
	switch word {
	case "title":
		r.inTitle = r.title == ""
		r.state.skip = true
	case "ansicpg":
		if page, _ := encodingNamed("windows-" + strconv.Itoa(value)); page != nil {
			r.page = page
		} else if page, _ := encodingNamed("IBM" + strconv.Itoa(value)); page != nil {
			r.page = page
		}
	case "uc":
		r.state.unicodeSkip = max(0, min(value, 10))
	case "u":
		if value < 0 {
			value += 1 << 16
		}
		r.say(string(rune(value)))
		r.skipping = r.state.unicodeSkip
	case "super":
		r.endRaised()
		r.state.super = !has || value != 0
		r.state.sub = false
	case "sub":
		r.endRaised()
		r.state.sub = !has || value != 0
		r.state.super = false
	case "nosupersub", "plain":
		r.endRaised()
		r.state.super, r.state.sub = false, false
	case "par", "sect", "page":
		r.endParagraph()
	case "pard":
		r.level, r.item, r.inTable = 0, false, false
	case "intbl":
		r.inTable = true
	case "line":
		r.say("\n")
	case "tab":
		r.say("\t")
	case "outlinelevel":
		if value < 9 {
			r.level = value + 1
		}
	case "ls", "pntext", "listtext":
		r.item = true
	case "cell":
		r.endRaised()
		r.row = append(r.row, clean(r.text.String()))
		r.text.Reset()
	case "row":
		if len(r.row) > 0 {
			r.rows = append(r.rows, r.row)
		}
		r.row = nil
	case "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf":
		r.state.skip, r.state.footer = true, true
	case "pict":
		if !r.state.skip { // else of a group that is counted
			r.left.pictures++
		}
		r.state.skip = true
	case "shppict":
		r.left.pictures++
	case "object":
		r.left.addObject("object")
		r.state.skip = true
	case "moMath":
		r.left.addObject("formula")
	case "annotation":
		r.left.addComments(1, "")
	case "emdash":
		r.say("—")
	case "endash":
		r.say("–")
	case "bullet":
		r.say("•")
	case "lquote", "rquote":
		r.say("’")
	case "ldblquote":
		r.say("“")
	case "rdblquote":
		r.say("”")
	default:
		if rtfSkipped[word] {
			r.state.skip = true
		}
	}
}

// endParagraph writes the collected paragraph as a block, after the table before it, or adds a space to the current
// cell of a table. In a group that is not read it does nothing.
func (r *rtfReader) endParagraph() {
	r.endRaised()
	if r.state.skip {
		return
	}
	if r.inTable {
		r.text.WriteByte(' ')
		return
	}
	r.endTable()
	kind, level := Paragraph, 0
	switch {
	case r.level > 0:
		kind = Heading
		level = min(r.level, 6)
	case r.item:
		kind, level = Item, 1
	}
	r.w.add(kind, level, r.text.String())
	r.text.Reset()
}

// endTable writes the collected table, if there is one.
func (r *rtfReader) endTable() {
	if len(r.row) > 0 {
		r.rows = append(r.rows, r.row)
		r.row = nil
	}
	if len(r.rows) > 0 {
		addTable(r.w, r.rows, 0)
		r.rows = nil
	}
}
