package documents

import (
	"bytes"
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// readHTML writes the main text of an HTML page to w, without navigation, banners and the like, and returns its
// title; "" if it has none. The main text is what the page marks as such, else what Readability finds, else what
// prune leaves. Warnings name what is left out. Bytes that are no text are an *UnreadableError.
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
	whole := w.prune(page)
	if whole.DataAtom != atom.Main {
		if main := mainText(text, whole); main != nil {
			if h := find(whole, atom.H1); h != nil && find(main, atom.H1) == nil {
				w.add(Heading, 1, textBelow(h)) // taken for the title, and left out
			}
			beyond := omitted(whole, main)
			beyond.name(w, "beside the main text of the page")
			whole = main
		}
	}
	writeDOM(w, whole)
	return title, nil
}

// agreement is the least share of the words left by prune that Readability's main text must have. With fewer,
// Readability has dropped real text, such as the sections of a manual.
const agreement = 0.9

// mainText returns the main text that Readability finds in a page. It is nil if Readability fails, or drops too many of
// the words or headings in whole, the tree that prune left.
func mainText(text string, whole *html.Node) *html.Node {
	fresh, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return nil
	}
	article, err := readability.FromDocument(fresh, nil)
	if err != nil || article.Node == nil {
		return nil
	}
	if float64(wordsBelow(article.Node)) < agreement*float64(wordsBelow(whole)) ||
		headingsBelow(article.Node) < headingsBelow(whole)-1 { // the first one is the title, which it leaves out
		return nil
	}
	return article.Node
}

// headingsBelow counts the headings of the levels 1 to 4 in a node, at any depth, without those that are links to
// other pages, as the headings of teasers are.
func headingsBelow(n *html.Node) (count int) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.DataAtom {
		case atom.H1, atom.H2, atom.H3, atom.H4:
			a := find(c, atom.A)
			if a == nil || attribute(a, "href") == "" || strings.HasPrefix(attribute(a, "href"), "#") {
				count++
			}
		default:
			count += headingsBelow(c)
		}
	}
	return count
}

// titleOf returns the title element of a page, else its first h1; "" if it has neither.
func titleOf(page *html.Node) string {
	if t := find(page, atom.Title); t != nil {
		return codeBelow(t)
	}
	if h := find(page, atom.H1); h != nil {
		return textBelow(h)
	}
	return ""
}

// find returns the first element of a type inside a node, in the order of the document; nil if there is none.
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

// wordsBelow counts the visible words of a node that are not in links: navigation consists of links.
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

// declaredInHTML returns the charset in a page's Content-Type or, if that has none, in the first 4 KiB of the page;
// "" if neither names one.
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
