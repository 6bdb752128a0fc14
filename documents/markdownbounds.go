package documents

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// The parser of Markdown takes the square of some of its input: of quotes and lists in each other, of the
// marks of emphasis, code and links in one paragraph, of footnotes, and of a table's columns and rows. These
// are how many it is given; what is beyond them is text as it stands.
const (
	deepestMarkdown    = 32   // quotes and lists in each other
	mostMarks          = 1000 // in a paragraph, a heading or a cell, together
	fewestMarks        = 50   // in a long one
	marksTimesBytes    = 1e7  // in a long one: its marks times its bytes
	mostFootnotes      = 2000 // of a document
	mostEscapedPipes   = 2000 // in the tables of a document
	cellsOfATable      = 1e4  // that a table may have, however short its rows are
	cellsOfATableAByte = 2    // and beyond those for each byte that it has
)

// markdownBounds counts what the parser has done for one document, so that boundedParser can stop it in time.
type markdownBounds struct {
	marks, most    int          // of the block that is parsed; most is 0 before the first one
	unclosed       map[int]bool // how many backquotes in a row are not closed in the rest of the block
	footnotes      int
	pipes          int
	exceeded, flat bool // marks or nesting were left as text
	tables         int  // that were left as text
}

var boundsKey = parser.NewContextKey()

// boundsOf returns the counts of the document that is being parsed. The first call for a document makes them.
func boundsOf(pc parser.Context) *markdownBounds {
	b, ok := pc.Get(boundsKey).(*markdownBounds)
	if !ok {
		b = &markdownBounds{}
		pc.Set(boundsKey, b)
	}
	return b
}

// boundedParser is a Markdown parser whose time is not quadratic in its input. It wraps each part that is added to it,
// also those of extensions, in one that keeps the bounds.
type boundedParser struct{ parser.Parser }

// newBoundedParser returns a parser of CommonMark whose time is bounded. Extensions are added by its AddOptions.
func newBoundedParser() parser.Parser {
	p := boundedParser{parser.NewParser()}
	p.AddOptions(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
	)
	p.Parser.AddOptions(parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...))
	return p
}

// AddOptions implements parser.Parser: it adds the options with their parsers wrapped, so that nesting, marks and
// tables are bounded. Parsers that find plain addresses in a text, such as GFM's, are dropped: these are text all
// the same.
func (p boundedParser) AddOptions(options ...parser.Option) {
	given := parser.NewConfig()
	for _, o := range options {
		o.SetParserOption(given)
	}
	for i, v := range given.BlockParsers {
		given.BlockParsers[i].Value = &boundedBlock{v.Value.(parser.BlockParser)}
	}
	for i, v := range given.InlineParsers {
		inline := v.Value.(parser.InlineParser)
		if bytes.ContainsRune(inline.Trigger(), ' ') {
			continue // addresses in a text, which are text all the same
		}
		if bytes.ContainsRune(inline.Trigger(), '`') {
			inline = codeSpans{inline}
		}
		given.InlineParsers[i].Value = &boundedInline{inline}
	}
	for i, v := range given.ParagraphTransformers {
		given.ParagraphTransformers[i].Value = &boundedTable{v.Value.(parser.ParagraphTransformer)}
	}
	p.Parser.AddOptions(
		parser.WithBlockParsers(given.BlockParsers...), parser.WithInlineParsers(given.InlineParsers...),
		parser.WithParagraphTransformers(given.ParagraphTransformers...),
		parser.WithASTTransformers(given.ASTTransformers...),
	)
}

// boundedBlock wraps a block parser. It opens no block that would be nested too deep.
type boundedBlock struct{ parser.BlockParser }

// Open implements parser.BlockParser: it opens a block unless that would be nested too deep or one footnote too many.
// Then it sets bounds.flat and opens none.
func (b *boundedBlock) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	if b.Trigger() == nil || parent.Kind() == ast.KindList { // a paragraph, or the item of a list that is open
		return b.BlockParser.Open(parent, reader, pc)
	}
	depth := 0
	for n := parent; n != nil && depth < 2*deepestMarkdown; n = n.Parent() {
		depth++ // a list and its item are two
	}
	bounds := boundsOf(pc)
	if depth == 2*deepestMarkdown || bounds.footnotes >= mostFootnotes && bytes.ContainsRune(b.Trigger(), '[') {
		bounds.flat = true
		return nil, parser.NoChildren
	}
	node, state := b.BlockParser.Open(parent, reader, pc)
	if node != nil && bytes.ContainsRune(b.Trigger(), '[') {
		bounds.footnotes++
	}
	return node, state
}

// boundedInline wraps an inline parser. It handles only a bounded number of marks, such as * and [, in each block.
type boundedInline struct{ parser.InlineParser }

// Parse implements parser.InlineParser: it parses a mark unless its block already has as many as it may. Then it sets
// bounds.exceeded and returns nil.
func (b *boundedInline) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	bounds := boundsOf(pc)
	if bounds.most == 0 {
		length := 1
		if parent.Type() == ast.TypeBlock {
			for _, s := range parent.Lines().Sliced(0, parent.Lines().Len()) {
				length += s.Len()
			}
		}
		bounds.most = min(mostMarks, max(fewestMarks, int(marksTimesBytes)/length))
	}
	if bounds.marks >= bounds.most {
		bounds.exceeded = true
		return nil
	}
	bounds.marks++
	return b.InlineParser.Parse(parent, block, pc)
}

// CloseBlock implements parser.CloseBlocker: it calls that of the wrapped parser, if it has one, and sets the
// counts of the block to zero for the next one.
func (b *boundedInline) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	if c, ok := b.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, block, pc)
	}
	bounds := boundsOf(pc)
	bounds.marks, bounds.most = 0, 0
	clear(bounds.unclosed)
}

// codeSpans wraps the parser of code spans. It searches each block only once in vain for the end of code that begins
// with a given number of backquotes.
type codeSpans struct{ parser.InlineParser }

// Parse implements parser.InlineParser: it parses a code span. It takes backticks for text if as many were found
// without a closing run before in this block.
func (c codeSpans) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, segment := block.PeekLine()
	n := 0
	for n < len(line) && line[n] == '`' {
		n++
	}
	bounds := boundsOf(pc)
	if bounds.unclosed[n] {
		block.Advance(n)
		return ast.NewTextSegment(segment.WithStop(segment.Start + n))
	}
	node := c.InlineParser.Parse(parent, block, pc)
	if node != nil && node.Kind() == ast.KindText {
		if bounds.unclosed == nil {
			bounds.unclosed = map[int]bool{}
		}
		bounds.unclosed[n] = true
	}
	return node
}

// boundedTable wraps the parser of tables. It makes no table of a paragraph with many more columns than text.
type boundedTable struct{ parser.ParagraphTransformer }

// Transform implements parser.ParagraphTransformer: it makes a table of a paragraph, unless that would have far more
// cells than text or very many escaped bars. Then it counts the table in bounds.tables.
func (b *boundedTable) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines := node.Lines()
	length, columns, pipes := 0, 0, 0
	for _, s := range lines.Sliced(0, lines.Len()) {
		line := s.Value(reader.Source())
		length += len(line)
		columns = max(columns, bytes.Count(line, []byte("|"))+1)
		pipes += bytes.Count(line, []byte(`\|`))
	}
	bounds := boundsOf(pc)
	bounds.pipes += pipes
	if columns*lines.Len() > cellsOfATable+cellsOfATableAByte*length || pipes > 0 && bounds.pipes > mostEscapedPipes {
		bounds.tables++
		return
	}
	b.ParagraphTransformer.Transform(node, reader, pc)
}
