package documents

import (
	"fmt"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// omission counts the words of an HTML page that are left out, and quotes where they begin. The zero value has none.
type omission struct {
	words  int
	begins []string
}

// quotedBegins is how many of the elements that were left out a warning quotes.
const quotedBegins = 5

// add counts the words of a text that is left out, and keeps the beginning of the first texts for the warning.
func (o *omission) add(text string) {
	n := len(strings.Fields(text))
	if n == 0 {
		return
	}
	o.words += n
	if len(o.begins) < quotedBegins {
		o.begins = append(o.begins, fmt.Sprintf("%.60q", clean(text)))
	}
}

// name adds a warning such as "12 words of navigation were left out: …", with how the parts left out begin; none if
// no word was counted. place is the text between the number of words and "were".
func (o *omission) name(w *writer, place string) {
	if o.words > 0 {
		w.warn("%d words %s were left out: %s …", o.words, place, strings.Join(o.begins, ", "))
	}
}

// hiddenText returns all text of a hidden element and of those in it, without that of skipped elements such as
// scripts, with a space after each piece.
func hiddenText(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data + " ")
		}
		if n.Type == html.ElementNode && skipped[n.DataAtom] {
			return
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(n)
	return b.String()
}

// nameUnread adds warnings that name what writeDOM does not read below n: the text of form fields and of elements for
// browsers that lack something, and the descriptions of pictures.
func nameUnread(w *writer, n *html.Node) {
	var fields, pictures omission
	addUnread(n, &fields, &pictures)
	fields.name(w, "in form fields, buttons and texts for other browsers")
	pictures.name(w, "that describe pictures")
}

// addUnread adds the texts of the skipped elements below n, such as form fields, to fields, and the descriptions of
// pictures to pictures. It leaves out what no browser shows, such as scripts and hidden elements.
func addUnread(n *html.Node, fields, pictures *omission) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type != html.ElementNode || hidden(c):
		case c.DataAtom == atom.Img:
			pictures.add(attribute(c, "alt"))
		case c.DataAtom == atom.Input:
			if kind := attribute(c, "type"); kind != "hidden" && kind != "checkbox" && kind != "radio" {
				fields.add(attribute(c, "value"))
			}
		case c.DataAtom == atom.Noscript:
			fields.add(noscriptText(c))
		case c.DataAtom == atom.Script, c.DataAtom == atom.Style, c.DataAtom == atom.Template, c.DataAtom == atom.Head,
			c.DataAtom == atom.Svg:
		case skipped[c.DataAtom]:
			fields.add(allText(c))
		default:
			addUnread(c, fields, pictures)
		}
	}
}

// noscriptText returns the visible text of a noscript element, whose content the HTML parser leaves unparsed; "" if
// there is none.
func noscriptText(n *html.Node) string {
	tree, err := html.Parse(strings.NewReader(allText(n)))
	if err != nil {
		return ""
	}
	return textBelow(tree)
}

// allText returns all text below n, with a space behind each piece.
func allText(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data + " ")
		}
	}
	return b.String()
}

// omitted returns how much visible text of whole is missing in part, with the beginnings of the first missing
// texts. It compares text node by text node: one that whole has twice and part once is missing once. If part has no
// h1, the first of whole counts as kept.
func omitted(whole, part *html.Node) (o omission) {
	kept := map[string]int{}
	eachText(part, func(text string) { kept[text]++ })
	if h := find(whole, atom.H1); h != nil && find(part, atom.H1) == nil {
		eachText(h, func(text string) { kept[text]++ })
	}
	eachText(whole, func(text string) {
		if kept[text] > 0 {
			kept[text]--
			return
		}
		o.add(text)
	})
	return o
}

// eachText calls visit with each cleaned piece of visible text below n that is not blank.
func eachText(n *html.Node, visit func(text string)) {
	if n.Type == html.TextNode {
		if text := clean(n.Data); text != "" {
			visit(text)
		}
		return
	}
	if n.Type == html.ElementNode && (skipped[n.DataAtom] || hidden(n)) {
		return
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		eachText(c, visit)
	}
}
