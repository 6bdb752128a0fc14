package documents

import (
	"bytes"
	"strings"

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
	whole := w.prune(page)
	if whole.DataAtom != atom.Main {
		if main := mainText(text, whole); main != nil {
			if h := find(whole, atom.H1); h != nil && find(main, atom.H1) == nil {
				w.add(Heading, 1, textBelow(h)) // taken for the title, and left out
			}
			if left := wordsBelow(whole) - wordsBelow(main); left >= wordsToName {
				w.warn("%d words beside the main text of the page were left out", left)
			}
			whole = main
		}
	}
	writeDOM(w, whole)
	return title, nil
}

// agreement is the share of the words that prune leaves which Readability's main text has at least. Where it has
// fewer, it left out more than is named as beside the text, such as the sections of a manual.
const agreement = 0.9

// mainText returns the tree of a page's main text by Readability, or nil where that has fewer than `agreement` of the
// words that prune left.
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

// headingsBelow counts the headings below a node that are no links to other pages, as those of teasers are.
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
