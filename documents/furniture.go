package documents

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// prune removes navigation, banners, comments and the like from an HTML page, and returns its body, or its main element
// if that has nearly all the words. Elements and roles of HTML are followed always; names (classes and ids) only as
// long as half of the words remain. A warning tells how many words were removed because of names. A page without a body
// is returned as it is.
func (w *writer) prune(page *html.Node) *html.Node {
	body := find(page, atom.Body)
	if body == nil {
		return page
	}
	words := wordsBelow(body)
	left := words
	first := "" // of what names took
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; {
			next := c.NextSibling
			switch {
			case c.Type != html.ElementNode:
			case beside(c):
				n.RemoveChild(c)
			case namedBeside(c):
				if has := wordsBelow(c); (left-has)*2 >= words {
					left -= has
					if has > 0 && first == "" {
						first = clean(textBelow(c))
					}
					n.RemoveChild(c)
				} else {
					walk(c)
				}
			default:
				walk(c)
			}
			c = next
		}
	}
	walk(body)
	if words-left >= wordsToName {
		w.warn("%d words were left out that the page calls navigation, comments or the like: %.60q …", words-left, first)
	}
	if main := find(body, atom.Main); main != nil && float64(wordsBelow(main)) >= agreement*float64(wordsBelow(body)) {
		return main
	}
	return body
}

// wordsToName is the number of words removed by prune from which on there is a warning: those of a paragraph.
const wordsToName = 40

// beside reports whether an element is navigation, a banner or the like by its HTML element or role.
func beside(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Aside:
		return attribute(n, "role") != "doc-footnote" && attribute(n, "epub:type") != "footnote"
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
// "teaser" if there are links in the element.
func namedBeside(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Div, atom.Section, atom.Ul, atom.Ol, atom.Dl, atom.Form, atom.Table, atom.Td, atom.P, atom.Span:
	default:
		return false
	}
	id, class := attribute(n, "id"), attribute(n, "class")
	if strings.Contains(strings.ToLower(class), "teaser") && find(n, atom.A) != nil {
		return true // without a link it is the beginning of the text
	}
	return besideByName(id) || besideByName(class)
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
// "relatedPosts", "nav_main".
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

// wordsOfName returns the words of an identifier in lower case: "related", "posts" for relatedPosts-1.
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
