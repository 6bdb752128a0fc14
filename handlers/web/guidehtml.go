package web

import (
	"path"
	"strings"

	"example.org/conclave/docs"

	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// linkResolver turns what a page's links point at into what the server has: another page of
// the guide, the OpenAPI document, a page of this server. A file that the
// program does not contain is named, without a link.
type linkResolver struct{ folder string } // in which the page is, below docs

// Transform replaces the links of a page by addresses on this server: of another page of the guide, of the OpenAPI
// document, or of a page of this server. A link to a file that the program does not contain becomes plain text.
func (l linkResolver) Transform(tree *ast.Document, reader text.Reader, _ parser.Context) {
	var absent []*ast.Link
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Image:
			if entering {
				n.Destination = []byte(guideRoot + path.Join(l.folder, string(n.Destination)))
			}
		case *ast.Link:
			if !entering {
				break
			}
			if to, ok := guideLink(l.folder, string(n.Destination)); ok {
				n.Destination = []byte(to)
			} else {
				absent = append(absent, n)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, n := range absent {
		name := path.Join("docs", l.folder, string(n.Destination))
		label := plainText(n, reader.Source())
		parent := n.Parent()
		if !strings.HasSuffix(name, label) {
			for child := n.FirstChild(); child != nil; child = n.FirstChild() {
				parent.InsertBefore(parent, n, child)
			}
			parent.InsertBefore(parent, n, ast.NewString([]byte(" (")))
			parent.InsertAfter(parent, n, ast.NewString([]byte(")")))
		}
		code := ast.NewString([]byte("<code>" + string(util.EscapeHTML([]byte(name))) + "</code>"))
		code.SetCode(true) // written as it is
		parent.ReplaceChild(parent, n, code)
	}
}

// guideLink returns the address that a link's target has on the server, relative to a page in a folder below docs. ok
// is false if the server does not have the target.
func guideLink(folder, to string) (string, bool) {
	name, fragment, anchored := strings.Cut(to, "#")
	if anchored {
		fragment = "#" + fragment
	}
	switch {
	case name == "": // on the same page
		return to, true
	case path.Join(folder, name) == "../handlers/schema/openapi.yaml":
		return "/openapi.yaml", true
	case strings.HasPrefix(name, "http://127.0.0.1:8080"):
		return strings.TrimPrefix(to, "http://127.0.0.1:8080"), true
	case strings.Contains(name, "://"):
		return to, true
	case path.Ext(name) == ".md":
		file := path.Join(folder, name)
		if _, err := docs.Files.ReadFile(file); err == nil {
			return guidePath(file) + fragment, true
		}
	}
	return "", false
}

// accessibleRenderer renders some nodes in another way than goldmark does: wide code and tables scroll by themselves,
// also with the keyboard; a heading links to itself; an empty header cell of a table is no header.
type accessibleRenderer struct{}

// RegisterFuncs registers the functions that render headings, code and tables. It implements renderer.NodeRenderer.
func (a accessibleRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, a.renderHeading)
	r.Register(ast.KindCodeBlock, a.renderCode)
	r.Register(ast.KindFencedCodeBlock, a.renderCode)
	r.Register(extension.KindTable, a.renderTable)
	r.Register(extension.KindTableCell, a.renderCell)
}

// renderHeading renders a heading with an id and a link to itself. It never fails.
func (accessibleRenderer) renderHeading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	heading := n.(*ast.Heading)
	tag := "h" + string(rune('0'+heading.Level))
	value, _ := heading.AttributeString("id")
	id, _ := value.([]byte)
	if entering {
		_, _ = w.WriteString("<" + tag + ` id="` + string(id) + `"><a href="#` + string(id) + `">`)
	} else {
		_, _ = w.WriteString("</a></" + tag + ">\n")
	}
	return ast.WalkContinue, nil
}

// renderCode renders a code block that scrolls. It never fails.
func (accessibleRenderer) renderCode(
	w util.BufWriter, source []byte, n ast.Node, entering bool,
) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString(`<pre tabindex="0"><code>`)
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		_, _ = w.Write(util.EscapeHTML(line.Value(source)))
	}
	_, _ = w.WriteString("</code></pre>\n")
	return ast.WalkSkipChildren, nil
}

// renderTable renders a table that scrolls. It never fails.
func (accessibleRenderer) renderTable(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(`<div class="wide" tabindex="0"><table>` + "\n")
	} else {
		_, _ = w.WriteString("</table></div>\n")
	}
	return ast.WalkContinue, nil
}

// renderCell writes the start tag of a table's cell if entering, otherwise its end tag. A cell of the header is a th,
// an empty one a td. The error is always nil.
func (accessibleRenderer) renderCell(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	cell := n.(*extension.TableCell)
	tag := "td"
	if _, head := cell.Parent().(*extension.TableHeader); head && cell.HasChildren() {
		tag = "th"
	}
	if !entering {
		_, _ = w.WriteString("</" + tag + ">\n")
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString("<" + tag)
	if tag == "th" {
		_, _ = w.WriteString(` scope="col"`)
	}
	if cell.Alignment == extension.AlignRight {
		_, _ = w.WriteString(` class="right"`)
	}
	_, _ = w.WriteString(">")
	return ast.WalkContinue, nil
}
