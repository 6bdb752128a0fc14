package documents

import (
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// htmlInMarkdown passes the HTML in a Markdown text on, so that its text is read as that of a page is: tables, powers
// and the like. A word in angle brackets that is no element of HTML, such as <FILE>, is text.
type htmlInMarkdown struct{}

// RegisterFuncs implements renderer.NodeRenderer: it registers the functions that write the nodes of HTML in Markdown.
func (h htmlInMarkdown) RegisterFuncs(to renderer.NodeRendererFuncRegisterer) {
	to.Register(ast.KindHTMLBlock, h.block)
	to.Register(ast.KindRawHTML, h.inline)
}

// block writes the lines of a block of HTML unchanged. The error is always nil.
func (htmlInMarkdown) block(out util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	block, ok := n.(*ast.HTMLBlock)
	if !ok || !entering {
		return ast.WalkContinue, nil
	}
	for i := range block.Lines().Len() {
		line := block.Lines().At(i)
		_, _ = out.Write(line.Value(source)) // a bytes.Buffer
	}
	if block.HasClosure() {
		_, _ = out.Write(block.ClosureLine.Value(source))
	}
	return ast.WalkContinue, nil
}

// inline writes a tag in a paragraph unchanged, or as escaped text if HTML has no such element or it is one of
// takesAll. The error is always nil.
func (htmlInMarkdown) inline(out util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	raw, ok := n.(*ast.RawHTML)
	if !ok || !entering {
		return ast.WalkSkipChildren, nil
	}
	var tag strings.Builder
	for i := range raw.Segments.Len() {
		segment := raw.Segments.At(i)
		tag.Write(segment.Value(source))
	}
	text := tag.String()
	if name := tagName.FindStringSubmatch(text); name != nil {
		element := atom.Lookup([]byte(strings.ToLower(name[1])))
		if element == 0 || takesAll[element] {
			text = html.EscapeString(text)
		}
	}
	_, _ = out.WriteString(text)
	return ast.WalkSkipChildren, nil
}

// tagName matches the beginning of a tag.
var tagName = regexp.MustCompile(`^</?([A-Za-z][A-Za-z0-9-]*)`)

// takesAll are the elements that take all that follows them as their content until they are closed. In a sentence about
// HTML they are not.
var takesAll = map[atom.Atom]bool{
	atom.Textarea: true, atom.Title: true, atom.Script: true, atom.Style: true, atom.Iframe: true, atom.Noembed: true,
	atom.Noframes: true, atom.Plaintext: true, atom.Xmp: true, atom.Select: true, atom.Template: true, atom.Svg: true,
	atom.Math: true, atom.Noscript: true, atom.Button: true, atom.Option: true, atom.Object: true, atom.Canvas: true,
	atom.Audio: true, atom.Video: true, atom.Datalist: true, atom.Dialog: true, atom.Head: true, atom.Body: true,
	atom.Html: true, atom.Frameset: true, atom.Input: true, atom.Pre: true,
}
