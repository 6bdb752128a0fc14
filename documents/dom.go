package documents

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// skipped are the HTML elements whose text is not read: scripts, controls, and what has no meaning without its picture.
var skipped = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Template: true, atom.Noscript: true, atom.Svg: true, atom.Math: false,
	atom.Head: true, atom.Button: true, atom.Select: true, atom.Option: true, atom.Input: true, atom.Textarea: true,
	atom.Iframe: true, atom.Object: true, atom.Canvas: true, atom.Audio: true, atom.Video: true, atom.Datalist: true,
	atom.Dialog: true,
}

// inline are the HTML elements within a line of text; every other element begins a block.
var inline = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.B: true, atom.Bdi: true, atom.Bdo: true, atom.Cite: true, atom.Code: true,
	atom.Data: true,
	atom.Del:  true, atom.Dfn: true, atom.Em: true, atom.Font: true, atom.I: true, atom.Ins: true, atom.Kbd: true,
	atom.Label: true,
	atom.Mark:  true, atom.Q: true, atom.S: true, atom.Samp: true, atom.Small: true, atom.Span: true, atom.Strong: true,
	atom.Sub: true,
	atom.Sup: true, atom.Time: true, atom.Tt: true, atom.U: true, atom.Var: true, atom.Wbr: true, atom.Img: true,
	atom.Math: true,
	atom.Big:  true, atom.Strike: true, atom.Acronym: true, atom.Nobr: true, atom.Ruby: true, atom.Rt: true,
}

// dom writes the blocks of an HTML tree.
type dom struct {
	w     *writer
	line  strings.Builder // of the paragraph or item that is being read
	kind  Kind
	level int
	lists []htmlList // around the place that is being read, the outermost first
}

// htmlList is an HTML list that is being read.
type htmlList struct {
	ordered bool
	next    int
	step    int    // to the number of the next item: -1 if they are counted down
	format  string // as of formatNumber
}

// writeDOM writes the text of a node and its children to w, as blocks. It reads neither skipped nor hidden elements;
// prune and nameUnread name these.
func writeDOM(w *writer, n *html.Node) {
	d := &dom{w: w, kind: Paragraph}
	d.node(n)
	d.flush()
}

// flush writes the collected line as a block, if it is not empty.
func (d *dom) flush() {
	if d.line.Len() > 0 {
		d.w.add(d.kind, d.level, d.line.String())
		d.line.Reset()
	}
}

// children reads the children of n.
func (d *dom) children(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		d.node(c)
	}
}

// block writes what stands before n as a block, and then the children of n as blocks of this kind and level. Afterwards
// the kind and level are as before.
func (d *dom) block(n *html.Node, kind Kind, level int) {
	d.flush()
	before, at := d.kind, d.level
	d.kind, d.level = kind, level
	d.children(n)
	d.flush()
	d.kind, d.level = before, at
}

// node reads a node with its children: it writes the blocks that end in it and leaves the text after these in d.line.
func (d *dom) node(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		d.line.WriteString(n.Data)
		return
	case html.DocumentNode:
		d.children(n)
		return
	case html.ElementNode:
	default:
		return
	}
	if skipped[n.DataAtom] || hidden(n) || refersToNote(n) {
		return
	}
	if areNotes(n) {
		d.notes(n)
		return
	}
	switch n.DataAtom {
	case atom.Br:
		d.line.WriteByte('\n')
	case atom.Sup, atom.Sub, atom.Math:
		writeArranged(&d.line, n)
		d.doubtCents()
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		d.flush()
		d.w.add(Heading, int(n.Data[1]-'0'), textBelow(n))
	case atom.Ul, atom.Ol, atom.Menu:
		d.flush()
		d.lists = append(d.lists, listOf(n))
		d.children(n)
		d.flush()
		d.lists = d.lists[:len(d.lists)-1]
	case atom.Li:
		d.item(n)
	case atom.Dt:
		d.block(n, Item, max(1, len(d.lists)))
	case atom.Dd:
		d.block(n, Item, max(1, len(d.lists))+1)
	case atom.Pre:
		d.flush()
		d.w.add(Code, 0, codeBelow(n))
	case atom.Table:
		d.flush()
		d.table(n)
	case atom.Figcaption, atom.Caption:
		d.block(n, Caption, 0)
	case atom.Td, atom.Th: // of a table that arranges a page
		d.block(n, Paragraph, 0)
	default:
		if inline[n.DataAtom] {
			d.children(n)
			return
		}
		d.block(n, d.kind, d.level)
	}
}

// areNotes reports whether an element holds footnotes.
func areNotes(n *html.Node) bool {
	role := attribute(n, "role")
	return role == "doc-endnotes" || role == "doc-footnote" || attribute(n, "epub:type") == "footnote" ||
		attribute(n, "class") == "footnotes" ||
		n.DataAtom == atom.Aside && slices.Contains(strings.Fields(attribute(n, "class")), "footnote")
}

// refersToNote reports whether a node is a reference to a footnote, or the link from a footnote back to its reference.
func refersToNote(n *html.Node) bool {
	switch attribute(n, "role") {
	case "doc-noteref", "doc-backlink":
		return true
	}
	return attribute(n, "epub:type") == "noteref"
}

// notes writes the footnotes in a node, one block for each list item; without list items the node is one footnote.
func (d *dom) notes(n *html.Node) {
	d.flush()
	found := false
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.DataAtom == atom.Li {
				found = true
				d.block(c, Note, 0)
			} else {
				walk(c)
			}
		}
	}
	if walk(n); !found {
		d.block(n, Note, 0)
	}
}

// item writes an item of a list, with its number if the list is ordered. The attribute value of the item sets the
// number, and the numbers after it go on from there.
func (d *dom) item(n *html.Node) {
	d.flush()
	mark := ""
	if depth := len(d.lists); depth > 0 && d.lists[depth-1].ordered {
		l := &d.lists[depth-1]
		if at, err := strconv.Atoi(attribute(n, "value")); err == nil {
			l.next = at
		}
		mark = formatNumber(l.next, l.format) + ". "
		l.next += l.step
	}
	d.line.WriteString(mark)
	before, at := d.kind, d.level
	d.kind = Item
	d.level = max(1, len(d.lists))
	d.childrenOfItem(n, len(mark))
	d.kind, d.level = before, at
}

// childrenOfItem reads the content of a list item. The first paragraph joins the line with the number, which has `mark`
// bytes. An item without text is dropped.
func (d *dom) childrenOfItem(n *html.Node, mark int) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && c.DataAtom == atom.P &&
			strings.TrimSpace(d.line.String()[min(mark, d.line.Len()):]) == "" {
			d.children(c)
			d.flush()
			mark = 0
			continue
		}
		d.node(c)
	}
	if strings.TrimSpace(d.line.String()) == "" || mark > 0 && d.line.Len() <= mark {
		d.line.Reset() // nothing but its number
	}
	d.flush()
}

// listOf returns the list that an element begins, with the number of its first item. A reversed list without a
// start counts down from its number of items.
func listOf(n *html.Node) htmlList {
	l := htmlList{ordered: n.DataAtom == atom.Ol, next: first(n), step: 1}
	l.format = map[string]string{
		"a": "lowerColumn", "A": "upperColumn", "i": "lowerRoman", "I": "upperRoman",
	}[attribute(n, "type")]
	for _, a := range n.Attr {
		if a.Key != "reversed" {
			continue
		}
		l.step = -1
		if attribute(n, "start") == "" {
			l.next = 0
			for c := n.FirstChild; c != nil; c = c.NextSibling {
				if c.DataAtom == atom.Li {
					l.next++
				}
			}
		}
	}
	return l
}

// first returns the number of the first item of an ordered list: its attribute start, or 1 if that is missing,
// negative or above a million.
func first(n *html.Node) int {
	if start, err := strconv.Atoi(attribute(n, "start")); err == nil && start >= 0 && start < 1<<20 {
		return start
	}
	return 1
}

// textBelow returns the text of a node and of all that it contains, in the order of the document, without hidden
// elements and those of skipped, such as scripts; "" if there is none. A space stands before and after each block
// element, and a superscript, subscript or formula is written in one line, such as x^2. Other white space stays as it
// is in the page.
func textBelow(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
			return
		}
		if n.Type == html.ElementNode && (skipped[n.DataAtom] || hidden(n)) {
			return
		}
		if n.DataAtom == atom.Sup || n.DataAtom == atom.Sub || n.DataAtom == atom.Math {
			writeArranged(&b, n)
			return
		}
		breaks := n.Type == html.ElementNode && !inline[n.DataAtom]
		if breaks {
			b.WriteByte(' ')
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
		if breaks {
			b.WriteByte(' ')
		}
	}
	walk(n)
	return b.String()
}

// writeArranged appends a superscript, subscript or formula element to a line as text: "^3", "_1", "1/2". A raised
// link within the page becomes "[1]", the mark of a note.
func writeArranged(line *strings.Builder, n *html.Node) {
	before := line.String()
	if n.DataAtom == atom.Math {
		formula := mathBelow(n, 0)
		last, _ := utf8.DecodeLastRuneInString(before)
		if first, _ := utf8.DecodeRuneInString(formula); unicode.IsDigit(last) && unicode.IsDigit(first) {
			line.WriteByte(' ') // one and a half
		}
		line.WriteString(formula)
		return
	}
	inside := strings.TrimSpace(insideArranged(n))
	if n.DataAtom == atom.Sub {
		line.WriteString(writeLowered(before, inside))
		return
	}
	if raisesFraction(n) {
		if last, _ := utf8.DecodeLastRuneInString(before); unicode.IsDigit(last) {
			line.WriteByte(' ')
		}
		line.WriteString(inside)
		return
	}
	if a := find(n, atom.A); a != nil && strings.HasPrefix(attribute(a, "href"), "#") && inside != "" && inside[0] != '[' {
		line.WriteString("[" + inside + "]") // the mark of a note
		return
	}
	line.WriteString(writeRaised(before, inside))
}

// doubtCents adds a warning if the line ends with a whole number, other than 2 and 10, with two raised digits: it is
// read as a power, and may be a price.
func (d *dom) doubtCents() {
	end := d.line.String()
	end = end[max(0, len(end)-16):] // a long line may have many
	if m := raisedPair.FindStringSubmatch(end); m != nil && m[1] != "2" && m[1] != "10" {
		d.w.warn("%s^%s is read as a power, and may be an amount, %s.%s, with raised cents", m[1], m[2], m[1], m[2])
	}
}

// raisedPair finds a whole number with two raised digits at the end of a text.
var raisedPair = regexp.MustCompile(`(?:^|[^\d.,^])(\d{1,4})\^(\d\d)$`)

// insideArranged returns the text of the children of a superscript or subscript, without references to footnotes.
func insideArranged(n *html.Node) string {
	var all strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if !refersToNote(c) {
			all.WriteString(textBelow(c))
		}
	}
	return all.String()
}

// raisesFraction reports whether a superscript is the upper part of a fraction: a slash and a subscript follow.
func raisesFraction(n *html.Node) bool {
	slash := n.NextSibling
	if slash == nil || slash.Type != html.TextNode || strings.TrimSpace(slash.Data) != "/" && strings.TrimSpace(slash.Data) != "⁄" {
		return false
	}
	return slash.NextSibling != nil && slash.NextSibling.DataAtom == atom.Sub
}

// codeBelow returns all text of a node with its line breaks, also the text of hidden elements.
func codeBelow(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode:
			b.WriteString(n.Data)
		case n.DataAtom == atom.Br:
			b.WriteByte('\n')
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(n)
	return b.String()
}

// hidden reports whether an element has the attribute hidden (other than until-found), aria-hidden="true", or a style
// with display:none or visibility:hidden. It does not look at the elements around it.
func hidden(n *html.Node) bool {
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return a.Val != "until-found"
		case "aria-hidden":
			if a.Val == "true" {
				return true
			}
		case "style":
			style := strings.ReplaceAll(strings.ToLower(a.Val), " ", "")
			if strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden") {
				return true
			}
		}
	}
	return false
}

// attribute returns the value of an attribute; "" if it is missing or empty.
func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}
