package documents

import (
	"encoding/xml"
	"strings"

	"golang.org/x/net/html"
)

// feedEntry is one entry of a feed, in RSS or Atom.
type feedEntry struct {
	Title   feedText   `xml:"title"`
	Date    string     `xml:"pubDate"`
	Updated string     `xml:"updated"`
	Posted  string     `xml:"published"`
	DCDate  string     `xml:"date"`
	Author  string     `xml:"author>name"`
	Creator string     `xml:"creator"`
	Short   feedText   `xml:"description"`
	Summary feedText   `xml:"summary"`
	Content []feedText `xml:"content"`
	Encoded feedText   `xml:"encoded"`
}

// feedText is a text field of a feed: plain text, escaped HTML, or XHTML.
type feedText struct {
	Text  string `xml:",chardata"`
	Inner string `xml:",innerxml"`
	Type  string `xml:"type,attr"`
}

// html returns the text of an element of a feed as HTML: its inner XML if its type is xhtml, else its characters.
func (t feedText) html() string {
	if t.Type == "xhtml" {
		return t.Inner
	}
	return t.Text
}

// readFeed writes an RSS or Atom feed to w and returns its title; "" if it has none. Each entry becomes a heading
// with its date, author and text below. Where the XML is damaged, the entries before stay and that is no error. The
// error is an *UnreadableError if a limit is exceeded.
func readFeed(w *writer, text string) (title string, err error) {
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict = false
	d.Entity = xml.HTMLEntity
	d.CharsetReader = passThrough
	depth := 0
	for {
		token, err := d.Token()
		if err != nil {
			break // what was read before stays
		}
		switch e := token.(type) {
		case xml.StartElement:
			switch e.Name.Local {
			case "item", "entry":
				var entry feedEntry
				if d.DecodeElement(&entry, &e) == nil {
					addEntry(w, entry)
				}
				if w.err != nil {
					return "", w.err
				}
				continue
			case "title":
				var t feedText
				if title == "" && d.DecodeElement(&t, &e) == nil {
					title = textOfHTML(t.html())
				}
				continue
			case "description", "subtitle":
				var t feedText
				if len(w.blocks) == 0 && d.DecodeElement(&t, &e) == nil {
					addHTML(w, t.html())
				}
				continue
			}
			depth++
			if depth > deepestRecord {
				return "", unreadable(TooLarge, nil, "its elements are more than %d deep in each other", deepestRecord)
			}
		case xml.EndElement:
			depth--
		}
	}
	return title, nil
}

// addEntry writes an entry of a feed: its title as a heading, its first date and its author, and the longest of its
// texts.
func addEntry(w *writer, e feedEntry) {
	w.add(Heading, 2, textOfHTML(e.Title.html()))
	var about []string
	for _, part := range []string{e.Date, e.Posted, e.Updated, e.DCDate} {
		if part != "" {
			about = append(about, strings.TrimSpace(part))
			break
		}
	}
	if author := strings.TrimSpace(e.Author + e.Creator); author != "" {
		about = append(about, author)
	}
	w.add(Paragraph, 0, strings.Join(about, ", "))
	longest := ""
	for _, t := range append(e.Content, e.Encoded, e.Short, e.Summary) {
		if len(t.html()) > len(longest) {
			longest = t.html()
		}
	}
	addHTML(w, longest)
}

// addHTML writes the blocks of a piece of HTML to w, with warnings for what is not read in it.
func addHTML(w *writer, text string) {
	if tree, err := html.Parse(strings.NewReader(text)); err == nil {
		nameUnread(w, tree)
		writeDOM(w, tree)
	}
}

// textOfHTML returns the text of a piece of HTML, on one line; "" if it has none.
func textOfHTML(text string) string {
	tree, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return ""
	}
	return clean(textBelow(tree))
}
