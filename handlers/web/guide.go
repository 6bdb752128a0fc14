package web

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"
	"sync"

	"example.org/conclave/docs"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// guideRoot is the path of the guide; its first page is docs/README.md, which lists the others.
const guideRoot, guideIndex = "/guide/", "README.md"

// Document is a file of the guide as it is served.
type Document struct {
	Path, ContentType string
	// Text renders a page when it is first asked for.
	Text func() ([]byte, error)
}

// chapter is a heading of the guide's table of contents with its pages.
type chapter struct {
	Title string
	Pages []*guidePage
}

// guidePage is a page while it is made.
type guidePage struct {
	Name, Path string // evidence/load.md, /guide/evidence/load
	Label      string // in the list of pages
	Title      string // its first heading
	Sections   []section
	Body       template.HTML
	rendered   func() error      // renders it, once
	anchors    map[string]string // by the text of a heading; the first where several are equal
}

// section is a heading of the second level.
type section struct{ ID, Title string }

// book is the guide: its HTML frame, and its pages in reading order.
type book struct {
	shell    *template.Template
	chapters []chapter
	pages    []*guidePage
}

// theBook returns the guide of the process, which it reads at the first call.
var theBook = sync.OnceValues(func() (b book, err error) {
	b.shell, err = template.ParseFS(embedded, "files/guide.html")
	if err != nil {
		return b, fmt.Errorf("reading the frame of the guide's pages: %w", err)
	}
	b.chapters, err = readContents()
	b.pages = []*guidePage{{Name: guideIndex, Path: guideRoot, Label: "Contents"}}
	for _, c := range b.chapters {
		b.pages = append(b.pages, c.Pages...)
	}
	for _, p := range b.pages {
		p.rendered = sync.OnceValue(p.render)
	}
	return b, err
})

// renderPage returns a page in the guide's frame, as HTML. next is the page after it; nil: it is the last. It fails if
// the frame cannot be filled.
func (b *book) renderPage(p, next *guidePage) ([]byte, error) {
	return b.fillFrame(map[string]any{"Page": p, "Next": next})
}

// fillFrame returns the frame filled with shown, as HTML. It fails if the template does.
func (b *book) fillFrame(shown map[string]any) ([]byte, error) {
	var out bytes.Buffer
	shown["Chapters"] = b.chapters
	if err := b.shell.Execute(&out, shown); err != nil {
		return nil, fmt.Errorf("the guide: %w", err)
	}
	return out.Bytes(), nil
}

// Guide returns the pages of docs and their pictures. It is made once for a process, so that each page is rendered
// once.
var Guide = sync.OnceValues(guideFiles)

// guideFiles returns all files of the guide: the pages as Markdown with llms.txt, the pages as HTML, also at the paths
// that they had before, and the pictures. HTML is rendered when a file is read first. It fails if a page is missing or
// malformed.
func guideFiles() ([]Document, error) {
	b, err := theBook()
	if err != nil {
		return nil, err
	}
	all := plainFiles(&b)
	for i, p := range b.pages {
		var next *guidePage
		if i+1 < len(b.pages) {
			next = b.pages[i+1]
		}
		document := Document{p.Path, "text/html", sync.OnceValues(func() ([]byte, error) {
			if err := p.rendered(); err != nil {
				return nil, err
			}
			return b.renderPage(p, next)
		})}
		all = append(all, document)
		if former := guidePath(path.Base(p.Name)); former != p.Path { // links to it from before it moved
			document.Path = former
			all = append(all, document)
		}
	}
	err = fs.WalkDir(docs.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".svg" {
			return err
		}
		all = append(
			all,
			Document{guideRoot + name, "image/svg+xml", func() ([]byte, error) { return docs.Files.ReadFile(name) }},
		)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the guide's pictures: %w", err)
	}
	return all, nil
}

// readContents returns the table of contents: the links below each heading of README.md. It fails if there are none.
func readContents() (chapters []chapter, err error) {
	source, err := docs.Files.ReadFile(guideIndex)
	if err != nil {
		return nil, fmt.Errorf("reading the guide's list of pages: %w", err)
	}
	err = ast.Walk(
		goldmark.New().Parser().Parse(text.NewReader(source)),
		func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			switch n := n.(type) {
			case *ast.Heading:
				if entering && n.Level == 2 {
					chapters = append(chapters, chapter{Title: plainText(n, source)})
				}
			case *ast.Link:
				name := string(n.Destination)
				if entering && path.Ext(name) == ".md" && len(chapters) > 0 {
					last := &chapters[len(chapters)-1]
					last.Pages = append(
						last.Pages, &guidePage{Name: name, Path: guidePath(name), Label: plainText(n, source)},
					)
				}
			}
			return ast.WalkContinue, nil
		},
	)
	return chapters, err
}

// guidePath returns the path at which the page of a Markdown file is served.
func guidePath(name string) string {
	if name == guideIndex {
		return guideRoot
	}
	return guideRoot + strings.TrimSuffix(name, ".md")
}

// render sets the page's HTML, title and headings from its Markdown. It fails if the page is malformed. The headings
// are set as anchors, by their text, and those of the second level as sections too.
func (p *guidePage) render() error {
	source, err := docs.Files.ReadFile(p.Name)
	if err != nil {
		return fmt.Errorf("%s lists %s: %w", guideIndex, p.Name, err)
	}
	markdown := goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithParserOptions(
			parser.WithAutoHeadingID(),
			parser.WithASTTransformers(util.Prioritized(linkResolver{path.Dir(p.Name)}, 100)),
		),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(accessibleRenderer{}, 100))),
	)
	tree := markdown.Parser().Parse(text.NewReader(source))
	p.anchors = map[string]string{}
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		heading, ok := n.(*ast.Heading)
		if !ok {
			continue
		}
		id, _ := heading.AttributeString("id")
		if title := plainText(heading, source); p.anchors[title] == "" {
			p.anchors[title] = fmt.Sprintf("%s", id)
		}
		switch heading.Level {
		case 1:
			p.Title = plainText(heading, source)
		case 2:
			p.Sections = append(p.Sections, section{fmt.Sprintf("%s", id), plainText(heading, source)})
		}
	}
	var out bytes.Buffer
	if err := markdown.Renderer().Render(&out, source, tree); err != nil {
		return fmt.Errorf("the guide's page %s: %w", p.Name, err)
	}
	p.Body = template.HTML(out.String())
	return nil
}

// plainText returns the text of a node without Markdown.
func plainText(n ast.Node, source []byte) string {
	var out strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			out.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return out.String()
}
