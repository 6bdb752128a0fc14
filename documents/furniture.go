package documents

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// prune removes navigation, banners, comments, hidden parts and the like from an HTML page, which it changes, and
// returns its body, or its main element if that has nearly all the words. Elements and roles of HTML are followed
// always; names (classes and ids) only as long as half of the words remain. Warnings name all that is removed. A
// page without a body is returned as it is.
func (w *writer) prune(page *html.Node) *html.Node {
	body := find(page, atom.Body)
	if body == nil {
		return page
	}
	words := wordsBelow(body)
	left := words
	series := map[seriesKey]int{}
	countSeries(body, series)
	var removed, unseen omission
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; {
			next := c.NextSibling
			has := 0
			named := c.Type == html.ElementNode && namedBeside(c, series)
			if named {
				has = wordsBelow(c)
			}
			switch {
			case c.Type != html.ElementNode || skipped[c.DataAtom]:
			case hidden(c):
				unseen.add(hiddenText(c))
				n.RemoveChild(c)
			case beside(c):
				removed.add(textBelow(c))
				n.RemoveChild(c)
			case named && (left-has)*2 >= words:
				left -= has
				removed.add(textBelow(c))
				n.RemoveChild(c)
			default:
				walk(c)
			}
			c = next
		}
	}
	walk(body)
	removed.name(w, "that the page marks or names as navigation, a banner, comments or the like")
	unseen.name(w, "that the page hides")
	nameUnread(w, body)
	if main := find(body, atom.Main); main != nil && float64(wordsBelow(main)) >= agreement*float64(wordsBelow(body)) {
		moveNotes(body, main)
		beyond := omitted(body, main)
		beyond.name(w, "beside the main text of the page")
		return main
	}
	return body
}

// moveNotes moves the footnotes below n that are not in main to the end of main.
func moveNotes(n, main *html.Node) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch {
		case c == main || c.Type != html.ElementNode:
		case areNotes(c):
			n.RemoveChild(c)
			main.AppendChild(c)
		default:
			moveNotes(c, main)
		}
		c = next
	}
}

// beside reports whether an element is navigation, a banner, a side note or the like by its HTML element or role.
// Footnotes are not, and a header is only outside of articles and if it has no h1.
func beside(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Aside:
		return !areNotes(n) && !slices.Contains(wordsOfName(attribute(n, "class")), "footnote")
	case atom.Nav, atom.Footer:
		return true
	case atom.Header: // of the page, not of an article
		return n.Parent != nil && (n.Parent.DataAtom == atom.Body || find(n, atom.Nav) != nil) && find(n, atom.H1) == nil
	}
	switch attribute(n, "role") {
	case "navigation", "banner", "contentinfo", "search", "dialog", "alertdialog", "complementary", "menu", "menubar":
		return true
	}
	return false
}

// namedBeside reports whether the id or class of a div, list, table or similar element has a word from furniture, or
// "teaser" if there are links in the element. An id counts unless it names a part of the text (namedByHeading,
// isOfSeries).
func namedBeside(n *html.Node, series map[seriesKey]int) bool {
	switch n.DataAtom {
	case atom.Div, atom.Section, atom.Ul, atom.Ol, atom.Dl, atom.Form, atom.Table, atom.Td, atom.P, atom.Span:
	default:
		return false
	}
	id, class := attribute(n, "id"), attribute(n, "class")
	if strings.Contains(strings.ToLower(class), "teaser") && find(n, atom.A) != nil {
		return true // without a link it is the beginning of the text
	}
	return besideByName(class) || besideByName(id) && !namedByHeading(n, id) && !isOfSeries(n, series)
}

// leastOfSeries is how many more parts with ids a series has.
const leastOfSeries = 2

// seriesKey is what the parts of a series have in common.
type seriesKey struct {
	element atom.Atom
	class   string
}

// countSeries counts the elements below n that have a class, and an id that names nothing in furniture, by kind and
// class.
func countSeries(n *html.Node, counts map[seriesKey]int) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if id, class := attribute(c, "id"), attribute(c, "class"); id != "" && class != "" && !besideByName(id) {
			counts[seriesKey{c.DataAtom, class}]++
		}
		countSeries(c, counts)
	}
}

// isOfSeries reports whether an element is one of the parts of a text that a generator of documentation gave ids by
// their subjects: the page has leastOfSeries more elements of the same kind and class with ids that name nothing in
// furniture (countSeries), and it has more words outside of links than in them. So the section
// "SQL-SYNTAX-COMMENTS" is about comments, and has none.
func isOfSeries(n *html.Node, counts map[seriesKey]int) bool {
	class := attribute(n, "class")
	return class != "" && counts[seriesKey{n.DataAtom, class}] >= leastOfSeries && linkedWords(n) < wordsBelow(n)
}

// namedByHeading reports whether the id of an element has no other words than the heading that the element begins
// with, as generators of documentation name sections, and has fewer words in links than outside of them:
// "font-related-parameters" is no list of related pages.
func namedByHeading(n *html.Node, id string) bool {
	heading := headingAtTop(n)
	if heading == nil {
		return false
	}
	inHeading := setOf(wordsOfName(clean(textBelow(heading)))...)
	for _, word := range wordsOfName(id) {
		if !inHeading[word] {
			return false
		}
	}
	return linkedWords(n) < wordsBelow(n)
}

// headingAtTop returns the heading that the text of n begins with, at any depth; nil if other text comes first or
// there is none.
func headingAtTop(n *html.Node) *html.Node {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode && strings.TrimSpace(c.Data) != "":
			return nil
		case c.Type != html.ElementNode || wordsBelow(c) == 0:
		case c.DataAtom == atom.H1, c.DataAtom == atom.H2, c.DataAtom == atom.H3, c.DataAtom == atom.H4,
			c.DataAtom == atom.H5, c.DataAtom == atom.H6:
			return c
		default:
			return headingAtTop(c)
		}
	}
	return nil
}

// linkedWords returns the number of words in links below n, also of hidden ones. wordsBelow counts those outside of
// links.
func linkedWords(n *html.Node) (words int) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == atom.A {
			words += len(strings.Fields(textBelow(c)))
		} else {
			words += linkedWords(c)
		}
	}
	return words
}

// furniture are words in the names that pages give to navigation, banners, comments, share buttons, lists of teasers
// and advertisements. Most pages do not mark these by an HTML element or role.
var furniture = setOf(
	"nav", "navi", "navbar", "navigation", "menu", "menue", "submenu", "topbar", "breadcrumb", "breadcrumbs", "skiplink",
	"skip", "pagination", "pager", "paging", "footer", "banner", "masthead", "sidebar", "sidebars", "rail",
	"cookie", "cookies", "consent", "gdpr", "newsletter", "subscribe", "subscription", "signup", "login", "popup", "modal",
	"overlay", "comment", "comments", "commentlist", "respond", "disqus",
	"share", "sharing", "social", "sharedaddy", "addthis", "bookmarks", "shariff",
	"related", "recommended", "recommendations", "teasers", "promo", "popular", "trending", "outbrain", "taboola",
	"ad", "ads", "advert", "advertisement", "advertising", "sponsor", "sponsored", "anzeige", "werbung",
)

// setOf returns a set of words.
func setOf(words ...string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, word := range words {
		set[word] = true
	}
	return set
}

// besideByName reports whether one of the words in class or id names is in furniture, as in "site-footer",
// "relatedPosts", "nav_main"; not if the word before it is "has", "no" or "with". It is false for names of more
// than 1000 bytes together.
func besideByName(identifiers string) bool {
	if identifiers == "" || len(identifiers) > 1000 {
		return false
	}
	for identifier := range strings.FieldsSeq(identifiers) {
		before := ""
		for _, word := range wordsOfName(identifier) {
			if furniture[word] && before != "has" && before != "no" && before != "with" {
				return true
			}
			before = word
		}
	}
	return false
}

// wordsOfName returns the words of an identifier in lower case, without digits: "related", "posts" for
// relatedPosts-1; nil if it has no letters.
func wordsOfName(identifier string) (words []string) {
	begin := 0
	var before rune
	cut := func(end int) {
		if word := strings.ToLower(strings.TrimFunc(identifier[begin:end], func(r rune) bool { return !unicode.IsLetter(r) })); word != "" {
			words = append(words, word)
		}
		begin = end
	}
	for i, r := range identifier {
		if !unicode.IsLetter(r) || unicode.IsUpper(r) && unicode.IsLower(before) {
			cut(i)
		}
		before = r
	}
	cut(len(identifier))
	return words
}
