package documents

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
	"go.yaml.in/yaml/v3"
	"golang.org/x/net/html"
)

var markdown = goldmark.New(
	goldmark.WithParser(newBoundedParser()),
	goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(htmlInMarkdown{}, beforeGoldmark))),
)

// beforeGoldmark is the priority of a renderer that takes the place of goldmark's, which has 1000.
const beforeGoldmark = 100

// readMarkdown writes GitHub Flavored Markdown to w as blocks, and returns the title in its front matter, else the
// heading that it begins with, else "". Warnings name what is read as plain text because it is nested too deep or
// too frequent. The error is an *UnreadableError if the bytes are no text.
func readMarkdown(w *writer, data []byte) (string, error) {
	text, err := w.decode(data, "")
	if err != nil {
		return "", err
	}
	title, text := frontMatter(text)
	text = blankLines.ReplaceAllString(text, "\n\n\n\n\n")
	var page bytes.Buffer
	pc := parser.NewContext()
	if err := markdown.Convert([]byte(text), &page, parser.WithContext(pc)); err != nil {
		return "", unreadable(Damaged, err, "it is no Markdown that can be read")
	}
	bounds := boundsOf(pc)
	if bounds.flat {
		w.warn("quotes and lists are nested more than %d deep, or there are more than %d footnotes: "+
			"what is beyond is read as text", deepestMarkdown, mostFootnotes)
	}
	if bounds.exceeded {
		w.warn("a paragraph has very many marks of links, code and emphasis: those behind the first ones are read as text")
	}
	if bounds.tables > 0 {
		w.warn("%d tables have many more columns than their rows have cells, or very many escaped bars: "+
			"they are read as text", bounds.tables)
	}
	tree, err := html.Parse(&page)
	if err != nil {
		return "", unreadable(Damaged, err, "its Markdown is nested too deep")
	}
	nameUnread(w, tree)
	writeDOM(w, tree)
	if title == "" {
		title = firstHeading(w)
	}
	return title, nil
}

// blankLines matches many blank lines in a row, which make the parser slow: it records each for every open list.
var blankLines = regexp.MustCompile(`\n([ \t]*\n){4,}`)

// frontMatter cuts the YAML front matter, between lines of ---, off a text. It returns the title in it, "" if there
// is none, and the rest of the text. A text without front matter, or with one that is no YAML, is returned
// unchanged; else line ends become \n.
func frontMatter(text string) (title, rest string) {
	body, found := strings.CutPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "---\n")
	if !found {
		return "", text
	}
	matter, rest, found := strings.Cut(body, "\n---")
	if !found || rest != "" && rest[0] != '\n' {
		return "", text
	}
	var fields struct {
		Title string `yaml:"title"`
	}
	if yaml.Unmarshal([]byte(matter), &fields) != nil {
		return "", text
	}
	return fields.Title, rest
}

// firstHeading returns the text of the first block in w if that is a heading, else "".
func firstHeading(w *writer) string {
	if len(w.blocks) == 0 || w.blocks[0].Kind != Heading {
		return ""
	}
	b := w.blocks[0]
	return w.text.String()[b.Begin:b.End]
}
