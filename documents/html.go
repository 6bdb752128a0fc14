package documents

import (
	"bytes"
	"strings"
	"unicode"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// readHTML reads a page: its main text, without navigation, banners and the like. That is
// what the page itself marks as its main part; else what stands out as such; else all of
// it but what HTML marks as beside it.
func readHTML(w *writer, data []byte, contentType string) (string, error) {
	text, err := w.decode(data, declaredInHTML(data, contentType))
	if err != nil {
		return "", err
	}
	page, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return "", unreadable(Damaged, err, "it is no HTML that can be read")
	}
	title := titleOf(page)
	whole := prune(page)
	if whole.DataAtom != atom.Main {
		if main := mainText(text, whole); main != nil {
			if h := find(whole, atom.H1); h != nil && find(main, atom.H1) == nil {
				w.add(Heading, 1, textBelow(h)) // taken for the title, and left out
			}
			whole = main
		}
	}
	writeDOM(w, whole)
	return title, nil
}

// mainText returns the tree of a page's main text, or nil where it is doubtful: where
// it would leave out most of the words that prune left.
func mainText(text string, whole *html.Node) *html.Node {
	fresh, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return nil
	}
	article, err := readability.FromDocument(fresh, nil)
	if err != nil || article.Node == nil {
		return nil
	}
	have, of := wordsBelow(article.Node), wordsBelow(whole)
	// A page of several parts (an index, questions and answers, a shop's list) has no one
	// main text; half of the words in sentences is the least that one has to hold.
	if have*2 < of {
		return nil
	}
	return article.Node
}

// prune takes away what HTML itself marks as beside the text, and returns the body.
func prune(page *html.Node) *html.Node {
	body := find(page, atom.Body)
	if body == nil {
		return page
	}
	if main := find(body, atom.Main); main != nil && wordsBelow(main)*2 > wordsBelow(body) {
		body = main
	}
	words := wordsBelow(body)
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; {
			next := c.NextSibling
			if c.Type == html.ElementNode && (beside(c) || namedBeside(c) && wordsBelow(c)*2 < words) {
				n.RemoveChild(c)
			} else {
				walk(c)
			}
			c = next
		}
	}
	walk(body)
	return body
}

// beside reports whether an element holds navigation, a banner or the like.
func beside(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Aside:
		return attribute(n, "role") != "doc-footnote" && attribute(n, "epub:type") != "footnote"
	case atom.Nav, atom.Footer:
		return true
	case atom.Header: // of the page, not of an article
		return n.Parent != nil && (n.Parent.DataAtom == atom.Body || find(n, atom.Nav) != nil)
	}
	switch attribute(n, "role") {
	case "navigation", "banner", "contentinfo", "search", "dialog", "alertdialog", "complementary", "menu", "menubar":
		return true
	}
	return false
}

// namedBeside reports whether an element is called what frameworks for pages call parts that stand
// beside the text. It is no more than a hint: one that holds most of a page's words is the text.
func namedBeside(n *html.Node) bool {
	if n.DataAtom != atom.Div && n.DataAtom != atom.Section && n.DataAtom != atom.Ul {
		return false
	}
	return besideByName.contains(attribute(n, "id")) || besideByName.contains(attribute(n, "class"))
}

// names are words of identifiers.
type names []string

// Pages that do not mark such parts by elements or roles, which is most, have them under the names
// of the frameworks that they are made with: Bootstrap's navbar and breadcrumb, WordPress' sidebar
// and skip-link, and those of the programs that ask for consent. Without them 169 of 1,502
// real pages (docs/documents.md) give another text, most of them with navigation and banners in it.

var besideByName = names{
	"cookie",
	"consent",
	"gdpr",
	"breadcrumb",
	"breadcrumbs",
	"navbar",
	"sidebar",
	"newsletter",
	"skiplink",
	"skip-link",
}

// contains reports whether one of the names is a word of an identifier.
func (n names) contains(identifiers string) bool {
	for word := range strings.FieldsFuncSeq(strings.ToLower(identifiers), func(r rune) bool { return !unicode.IsLetter(r) && r != '-' }) {
		for _, name := range n {
			if word == name || strings.HasPrefix(word, name+"-") || strings.HasSuffix(word, "-"+name) {
				return true
			}
		}
	}
	return false
}

func titleOf(page *html.Node) string {
	if t := find(page, atom.Title); t != nil {
		return codeBelow(t)
	}
	if h := find(page, atom.H1); h != nil {
		return textBelow(h)
	}
	return ""
}

func find(n *html.Node, a atom.Atom) *html.Node {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && c.DataAtom == a {
			return c
		}
		if found := find(c, a); found != nil {
			return found
		}
	}
	return nil
}

// wordsBelow counts the words of a node outside links: navigation is links.
func wordsBelow(n *html.Node) int {
	if n.Type == html.TextNode {
		return len(strings.Fields(n.Data))
	}
	if n.Type == html.ElementNode && (skipped[n.DataAtom] || n.DataAtom == atom.A || hidden(n)) {
		return 0
	}
	count := 0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		count += wordsBelow(c)
	}
	return count
}

// declaredInHTML returns the encoding that a page or its transport names; "" where none does.
func declaredInHTML(data []byte, contentType string) string {
	if name := charsetOf(contentType); name != "" {
		return name
	}
	head := data[:min(len(data), 4096)]
	at := bytes.Index(bytes.ToLower(head), []byte("charset="))
	if at < 0 {
		return ""
	}
	rest := bytes.TrimLeft(head[at+len("charset="):], `"' `)
	end := bytes.IndexAny(rest, "\"' />;\r\n\t")
	if end < 0 {
		return ""
	}
	return string(rest[:end])
}
