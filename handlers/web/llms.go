package web

import (
	"bytes"
	"fmt"
	"strings"

	"example.org/conclave/docs"
)

// plainFiles returns the guide for programs that read text: each page as Markdown, and llms.txt, which lists them
// (https://llmstxt.org).
func plainFiles(b *book) (all []Document) {
	for _, p := range b.pages {
		all = append(all, Document{guideRoot + p.Name, "text/markdown", func() ([]byte, error) {
			return docs.Files.ReadFile(p.Name)
		}})
	}
	for _, path := range []string{"/llms.txt", guideRoot + "llms.txt"} {
		all = append(all, Document{path, "text/plain", b.renderList})
	}
	return all
}

// renderList returns the text of llms.txt: the list of the guide's pages, by chapters, each with its link and first
// sentence. It fails if a page is not built into the program.
func (b *book) renderList() ([]byte, error) {
	var out bytes.Buffer
	out.WriteString("# conclave\n\n> Answers questions from people's own documents: it finds the passages that answer, " +
		"says how sure it is, and whether the documents answer at all. This server's API is described at " +
		"/openapi.json, and chatbots reach it at /mcp, /v1/vector_stores and others.\n")
	for _, c := range b.chapters {
		_, _ = fmt.Fprintf(&out, "\n## %s\n\n", c.Title)
		for _, p := range c.Pages {
			source, err := docs.Files.ReadFile(p.Name)
			if err != nil {
				return nil, fmt.Errorf("the guide's page %s: %w", p.Name, err)
			}
			_, _ = fmt.Fprintf(&out, "- [%s](%s): %s\n", p.Label, guideRoot+p.Name, firstSentence(string(source)))
		}
	}
	return out.Bytes(), nil
}

// firstSentence returns the first sentence of a page's text, on one line: of the first paragraph that is not a heading,
// a picture or a table; "" if there is none.
func firstSentence(source string) string {
	for paragraph := range strings.SplitSeq(source, "\n\n") {
		text := strings.Join(strings.Fields(paragraph), " ")
		if text == "" || strings.ContainsAny(text[:1], "#!|") {
			continue
		}
		if end := strings.Index(text, ". "); end >= 0 {
			text = text[:end+1]
		}
		return text
	}
	return ""
}
