package documents

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"go.yaml.in/yaml/v3"
	"golang.org/x/net/html"
)

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList))

// readMarkdown reads GitHub's dialect of Markdown, with front matter, whose title is the
// document's.
func readMarkdown(w *writer, data []byte) (string, error) {
	text, err := w.decode(data, "")
	if err != nil {
		return "", err
	}
	title, text := frontMatter(text)
	if nestedDeep(text) {
		return "", unreadable(TooLarge, nil, "its Markdown is nested more than %d deep", deepestMarkdown)
	}
	var page bytes.Buffer
	if err := markdown.Convert([]byte(text), &page); err != nil {
		return "", unreadable(Damaged, err, "it is no Markdown that can be read")
	}
	tree, err := html.Parse(&page)
	if err != nil {
		return "", unreadable(Damaged, err, "its Markdown is nested too deep")
	}
	writeDOM(w, tree)
	if title == "" {
		title = firstHeading(w)
	}
	return title, nil
}

// frontMatter cuts the YAML between lines of --- off the beginning of a text.
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

// firstHeading returns the heading that a text begins with; "" where it begins otherwise.
func firstHeading(w *writer) string {
	if len(w.blocks) == 0 || w.blocks[0].Kind != Heading {
		return ""
	}
	b := w.blocks[0]
	return w.text.String()[b.Begin:b.End]
}

// deepestMarkdown is how many quotes and lists may be in each other. The parser takes time
// that grows with the square of it.
const deepestMarkdown = 100

// nestedDeep reports whether a line begins with more marks of quotes and lists than that.
func nestedDeep(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		marks := 0
		for _, c := range line {
			if strings.ContainsRune(">*-+", c) {
				marks++
			} else if c != ' ' && c != '\t' {
				break
			}
		}
		if marks > deepestMarkdown && strings.Trim(line, "-* \t") != "" {
			return true
		}
	}
	return false
}
