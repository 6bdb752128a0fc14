package sites

import (
	"bytes"
	"crypto/sha256"
	"net/http"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// scanned is what a page in HTML says to those who read a site.
type scanned struct {
	base      string            // address that links are relative to; "": the page's own
	canonical string            // address under which the page wants to be known; ""
	links     []string          // as they are written, without those that are not to be followed
	noIndex   bool              // the page is not to be found
	noFollow  bool              // its links are not to be followed
	words     int               // of the visible text
	scripts   int               // elements of scripts
	text      [sha256.Size]byte // of the visible text
}

// mostLinks bounds the links of a page that are followed.
const mostLinks = 10_000

// scanPage reads links and directions from a page. It takes time proportional to the page, whatever is in it: tags are
// read one after the other, and no tree is made. product is the name of the reader, to which directions may be
// addressed.
func scanPage(page []byte, product string) (s scanned) {
	z := html.NewTokenizer(bytes.NewReader(page))
	z.SetMaxBuf(1 << 20)
	sum := sha256.New()
	hidden := atom.Atom(0) // the element whose text is not visible
	for {
		switch z.Next() {
		case html.ErrorToken:
			sum.Sum(s.text[:0])
			return s
		case html.TextToken:
			if hidden != 0 {
				continue
			}
			for _, word := range bytes.Fields(z.Text()) {
				s.words++
				sum.Write(word)
				sum.Write([]byte{' '})
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if a := atom.Lookup(name); a == hidden {
				hidden = 0
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			a := atom.Lookup(name)
			switch a {
			case atom.Script:
				s.scripts++
				hidden = a
			case atom.Style, atom.Noscript, atom.Template, atom.Title:
				hidden = a
			case atom.A, atom.Area, atom.Link, atom.Base, atom.Meta, atom.Frame, atom.Iframe:
				if more {
					s.takeTag(a, attributesOf(z), product)
				}
			}
		}
	}
}

// attributesOf returns the attributes of the tag that z stands at, by their names in lower case; of those with the same
// name the first.
func attributesOf(z *html.Tokenizer) map[string]string {
	out := map[string]string{}
	for {
		key, value, more := z.TagAttr()
		if _, twice := out[string(key)]; !twice {
			out[string(key)] = string(value)
		}
		if !more {
			return out
		}
	}
}

// takeTag takes links and directions from one tag.
func (s *scanned) takeTag(tag atom.Atom, attributes map[string]string, product string) {
	switch tag {
	case atom.Base:
		if s.base == "" {
			s.base = attributes["href"]
		}
	case atom.Meta:
		name := strings.ToLower(strings.TrimSpace(attributes["name"]))
		if name == "robots" || name == product {
			s.direct(attributes["content"])
		}
	case atom.Link:
		if hasWord(attributes["rel"], "canonical") && s.canonical == "" {
			s.canonical = attributes["href"]
		} else if hasWord(attributes["rel"], "next") {
			s.addLink(attributes["href"])
		}
	case atom.Frame, atom.Iframe:
		s.addLink(attributes["src"])
	default:
		if !hasWord(attributes["rel"], "nofollow") {
			s.addLink(attributes["href"])
		}
	}
}

// addLink adds a link, unless it is empty or leads to a place on the same page.
func (s *scanned) addLink(link string) {
	link = strings.TrimSpace(link)
	if link != "" && link[0] != '#' && len(s.links) < mostLinks {
		s.links = append(s.links, link)
	}
}

// direct takes directions such as "noindex, nofollow".
func (s *scanned) direct(content string) {
	for word := range strings.SplitSeq(strings.ToLower(content), ",") {
		switch strings.TrimSpace(word) {
		case "noindex":
			s.noIndex = true
		case "nofollow":
			s.noFollow = true
		case "none":
			s.noIndex, s.noFollow = true, true
		}
	}
}

// directHeader takes the directions of an answer's headers X-Robots-Tag, of which one may begin with the name of the
// reader that it is for, and the address in a header Link that says what the page is known as.
func (s *scanned) directHeader(header http.Header, product string) {
	for _, value := range header.Values("X-Robots-Tag") {
		if name, rest, named := strings.Cut(value, ":"); named && !strings.ContainsAny(name, ", ") {
			if !strings.EqualFold(strings.TrimSpace(name), product) {
				continue
			}
			value = rest
		}
		s.direct(value)
	}
	for _, value := range header.Values("Link") {
		for link := range strings.SplitSeq(value, ",") {
			address, about, found := strings.Cut(strings.TrimPrefix(strings.TrimSpace(link), "<"), ">")
			about = strings.ReplaceAll(strings.ToLower(about), `"`, "")
			if found && hasWord(strings.ReplaceAll(about, ";", " "), "rel=canonical") {
				s.canonical = address
			}
		}
	}
}

// hasWord reports whether one of the words of a text, in any case, is the word.
func hasWord(text, word string) bool {
	for w := range strings.FieldsSeq(text) {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}

// isScripted reports whether a page has hardly any text and is likely to be built by scripts in a browser.
func (s *scanned) isScripted() bool { return s.scripts > 0 && s.words < fewWords }

// fewWords is what a page that is built by scripts has fewer of, such as "Loading" or a request to enable scripts.
const fewWords = 20
