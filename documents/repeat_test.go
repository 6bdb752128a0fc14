package documents

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"
)

// tokens are what files of a kind are made of. A pair with a space between is an opening and a closing
// one.
type tokens struct {
	plain []string
	pairs [][2]string
}

var markdownTokens = tokens{
	plain: []string{
		"a", " ", "\n", "\n\n", "# ", "## ", "> ", "- ", "* ", "+ ", "1. ", "\t", "    ", "|",
		"| a ", "|-", "|-|-|\n", "`", "``",
		"```\n", "~~~\n", "*", "**", "_", "__", "~~", "[", "]", "![", "](", "](a)", "[a]",
		"[a]: b\n", "[^1]", "[^1]: a\n", "<", ">",
		"<a>", "<!--", "-->", "<?", "?>", "<![CDATA[", "&amp;", "&", "\\", "---\n", "===\n",
		": a\n", "http://a.b", "www.a.b", "a@b.c",
		"!", "(", ")", "\"", "$", "- [ ] ", "a\n: b\n", "<b", "<div>\n", "=", "\u00a0", "中", "*a*",
		"|a|b|\n", "a\n", "[a](b \"", "'",
	},
	pairs: [][2]string{
		{"[", "](a)"}, {"![", "](a)"}, {"*", "*"}, {"**a", "a**"}, {"_", "_"}, {"~~", "~~"}, {"`", "`"}, {"<b>", "</b>"}, {"(", ")"},
		{"[a](", ")"}, {"<div>\n", "</div>\n"}, {"*a **", "** a*"}, {"[^", "]"},
	},
}

var htmlTokens = tokens{
	plain: []string{
		"a", " ", "a b. ", "\n", "<p>", "<br>", "<li>", "<td>", "<tr>", "<table>", "<div>", "<b>",
		"<i>", "<a>", "<a href=#x>", "<h1>",
		"</h1>", "<ul>", "<ol start=5>", "<sup>", "<sub>", "<math>", "<mfrac>", "<mrow>", "<msup>",
		"<select>", "<option>", "<form>",
		"<svg>", "<dl><dt>", "<dd>", "<pre>", "<!--", "-->", "&amp;", "&#x41;", "&nosuch;", "<",
		"</", "</p>", "</b>", "</table>", "<nobr>",
		"<font>", "<template>", "</template>", "<header>", "<nav>", "<main>",
		"<section class=sidebar>", "<div class=cookie>", "<title>",
		"<th colspan=1000>", "<td rowspan=65534>", "<td colspan=1000 rowspan=65534>a", "<caption>",
		"<frameset>", "<plaintext>", "<script>",
		"<style>", "<img alt=a>", "<p style=\"display:none\">", "<p class='a b c d'>",
		"<blockquote>", "<article>", "<figure>", "<ruby><rt>",
		"<button>", "<marquee>", "<object>", "<a name=x id=y title=z>", "中",
	},
	pairs: [][2]string{
		{"<div>", "</div>"}, {"<b>", "</b>"}, {"<a>", "</a>"}, {"<table><tr><td>", "</td></tr></table>"}, {"<ul><li>", "</li></ul>"},
		{"<section class=sidebar>a ", "</section>"}, {"<header>a", "</header>"}, {"<sup>a", "</sup>"}, {"<sub>", "a</sub>"},
		{"<math><mfrac><mrow>a", "</mrow><mi>b</mi></mfrac></math>"}, {"<p><b>", "</p>"}, {"<p><a><b><i>", "</p>"}, {"<svg><g>", "</g></svg>"},
		{"<blockquote><p>a", "</p></blockquote>"}, {"<ol><li>a<ul>", "</ul></ol>"}, {"<div class='comment'>a, b. ", "</div>"},
		{"<msup><mi>a</mi>", "</msup>"}, {"<mrow>", "</mrow>"}, {"<dl><dd>", "</dd></dl>"},
	},
}

var textTokens = tokens{plain: []string{
	"a", "A", "1", ".", " ", "\n", "\n\n", "\t", "word-\n", "ab-\ncd", "\u00ad\n", "- a\n", "1. A\n", "1.1 Aa\n\n", "===\n", "A B\n\n", "-",
	"a. ", "?", "\f", "\r", "\r\n", "   ", "10:20 a: b\n", "中", "。", "ﬁ", "\u200b", "…", "(", "\"", "e.g. ", "Dr. ", "a   b   c\n", "1,234 ",
	"\u0301", "😀", "x\u0002y", "* ", "a\tb\n", "http://a.b/c?d=e ", "\xe9", "\xff", "\xc3", "\u2028",
}}

var csvTokens = tokens{plain: []string{
	"a", "1", ",", ";", "\t", "|", "\n", "\"", "\"\"", "\"a\nb\"", "a,b\n", "\r\n", " ", ",,,,", "2024,", "a;b;c\n", "\n\n", "'", "\"a\",", "中",
}}

var odfTokens = tokens{
	plain: []string{
		"a", " ", "<text:p>a</text:p>", "<text:p>", "</text:p>",
		"<text:h text:outline-level=\"1\">a</text:h>", "<text:s text:c=\"99999999\"/>",
		"<text:tab/>", "<text:line-break/>", "<table:table>", "</table:table>",
		"<table:table-row>", "</table:table-row>",
		"<table:table-row table:number-rows-repeated=\"100\">",
		"<table:table-cell table:number-columns-repeated=\"100\">",
		"<table:table-cell>", "</table:table-cell>", "<text:list>", "</text:list>", "<text:note>",
		"</text:note>", "<draw:page>", "<!-- -->",
		"<![CDATA[a]]>", "&lt;", "<a:b c=\"d\" e=\"f\"/>", "<text:span>", "</text:span>",
		"<table:table-header-rows>",
		"</table:table-header-rows>",
		"<table:table-cell table:number-columns-repeated=\"99999\"/>", "<draw:frame>", "</draw:frame>",
		"<table:table-row table:number-rows-repeated=\"99999\"><table:table-cell><text:p>a</text:p></table:table-cell></table:table-row>",
	},
	pairs: [][2]string{
		{"<text:span>", "</text:span>"}, {"<text:list>", "</text:list>"}, {"<text:p>a", "</text:p>"}, {"<text:note>", "</text:note>"},
		{"<table:table><table:table-row><table:table-cell>", "</table:table-cell></table:table-row></table:table>"},
		{
			`<table:table><table:table-row table:number-rows-repeated="100"><table:table-cell table:number-columns-repeated="100"><text:p>a</text:p>`,
			"</table:table-cell></table:table-row></table:table>",
		},
	},
}

var docxTokens = tokens{
	plain: []string{
		"<w:p>", "</w:p>", "<w:r><w:t>a</w:t></w:r>", "<w:t>", "</w:t>", "a", "<w:tbl>",
		"</w:tbl>", "<w:tr>", "</w:tr>", "<w:tc>", "</w:tc>",
		"<w:tab/>", "<w:br/>", "<w:lastRenderedPageBreak/>", "<w:footnoteReference w:id=\"1\"/>",
		"<w:pStyle w:val=\"H\"/>",
		"<w:txbxContent>", "</w:txbxContent>", "<w:trPr><w:tblHeader/></w:trPr>",
		"<w:p><w:r><w:t>a</w:t></w:r></w:p>", "<w:del>", "</w:del>",
		"<w:altChunk r:id=\"c\"/>", "<w:relIds r:dm=\"d\"/>", "<w:ilvl w:val=\"3\"/>", "<!-- -->",
		"<![CDATA[a]]>", "&amp;",

		"<w:tr><w:trPr><w:tblHeader/></w:trPr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr>", "<w:outlineLvl w:val=\"0\"/>",
	},
	pairs: [][2]string{
		{"<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>"}, {"<w:p>", "</w:p>"}, {"<w:txbxContent>", "</w:txbxContent>"},
		{"<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p>", "</w:tc></w:tr></w:tbl>"}, {"<w:r><w:t>", "</w:t></w:r>"},
	},
}

var pptxTokens = tokens{
	plain: []string{
		"<p:sp>", "</p:sp>", "<a:p>", "</a:p>", "<a:t>a</a:t>", "<a:r><a:t>", "</a:t></a:r>", "a",
		"<a:br/>", "<p:ph type=\"title\"/>", "<p:ph/>",
		"<a:tbl>", "</a:tbl>", "<a:tr>", "</a:tr>", "<a:tc>", "</a:tc>", "<a:pPr lvl=\"8\"/>",
		"<!-- -->", "<![CDATA[a]]>", "&amp;",
	},
	pairs: [][2]string{{"<a:tbl><a:tr><a:tc>", "</a:tc></a:tr></a:tbl>"}, {"<a:p>",
		"</a:p>"}, {"<p:grpSp>", "</p:grpSp>"}},
}

var chartTokens = tokens{
	plain: []string{
		"<c:ser>", "</c:ser>", "<c:tx>", "</c:tx>", "<c:v>a</c:v>", "<c:cat>", "</c:cat>",
		"<c:val>", "</c:val>", "<c:v>", "</c:v>", "a",
		"<c:title>", "</c:title>", "<a:t>a</a:t>", "<!-- -->", "&amp;", "<![CDATA[a]]>",
		"<c:val><c:v>1</c:v></c:val>",
	},
	pairs: [][2]string{{"<c:x>", "</c:x>"}, {"<c:ser><c:val><c:v>1</c:v></c:val>",
		"</c:ser>"}, {"<c:title>", "</c:title>"}},
}

var diagramTokens = tokens{
	plain: []string{
		`<dgm:pt modelId="1">`, "</dgm:pt>", `<dgm:cxn srcId="1" destId="1"/>`, `<dgm:cxn srcId="1" destId="2" srcOrd="0"/>`, "<a:t>a</a:t>",
		"<a:p>", "</a:p>", "<a:br/>", "<a:t>", "</a:t>",
		"a", `<dgm:pt modelId="2" type="doc"/>`, "<!-- -->", "&amp;", "<![CDATA[a]]>",
	},
	pairs: [][2]string{{"<dgm:x>", "</dgm:x>"}, {`<dgm:pt modelId="3"><a:p><a:t>`, "</a:t></a:p></dgm:pt>"}},
}

var sheetTokens = tokens{plain: []string{
	"<row>", "</row>", "<row r=\"1048576\">", "<c r=\"A1\" t=\"s\"><v>0</v></c>", "<c r=\"XFD1\"><v>1</v></c>", "<c>", "</c>", "<v>", "</v>", "1",
	"<c t=\"inlineStr\"><is><t>a</t></is></c>", "<row><c r=\"XFD1\"><v>1</v></c></row>", "<!-- -->", "<c t=\"s\"><v>99999</v></c>",
	"<row><c><v>1</v></c></row>",
}}

var stringTokens = tokens{
	plain: []string{"<si/>", "<si></si>", "<si><t/></si>", "<si><t>a</t></si>", "<si>", "</si>", "<r><t>a</t></r>", "<t>", "</t>", "a", "<!-- -->"},
	pairs: [][2]string{{"<si>", "</si>"}, {"<r>", "</r>"}},
}

var mailTokens = tokens{
	plain: []string{
		"a", "\n", "\n\n", "--b\n", "--b--\n", "\n--b\n\na\n",
		"Content-Type: multipart/mixed; boundary=b\n\n", "Content-Type: message/rfc822\n\n",
		"Content-Type: text/html\n\n<p>a", "Content-Transfer-Encoding: base64\n",
		"Content-Transfer-Encoding: quoted-printable\n", "=41", "YQ==\n",
		"Subject: a\n", "Subject: =?utf-8?q?a?=\n", "=?utf-8?b?YQ==?= ", "From: a@b.c\n",
		"To: a <b@c.d>, ", "X: y\n", " ", ";", "\"", "(", ")", "<",
		"Content-Disposition: attachment; filename=a.txt\n", "filename*0=a; ", "=\n",
		"begin 644 a\n", "boundary=", "name=a;", "> a\n",
	},
	pairs: [][2]string{{"(", ")"}, {"<", ">"}, {"Content-Type: message/rfc822\n\nFrom: a\nSubject: b\n", ""}},
}

var pdfTokens = tokens{
	plain: []string{
		"(a) Tj ", "0 0 Td ", "q ", "Q ", "BT ", "ET ", "/F 12 Tf ", "/X Do ", "1 0 0 1 5 5 cm ",
		"[(a) -500 (b)] TJ ", "T* ", "(a)' ", "<41> Tj ", "[",
		"]", "<<", ">>", "/A ", "1 ", "(", ")", "0 -14 Td (abc def) Tj ", "BI /W 1 /H 1 ID a EI ",
		"100 0 Td (a) Tj ", "0 0 1 1 re f ", "n ", "W ",
		"/P <</MCID 0>> BDC ", "EMC ", "m l c h ", "1 1 m 2 2 l S ",
	},
	pairs: [][2]string{{"q ", "Q "}, {"[", "]"}, {"<<", ">>"}, {"BT ", "ET "}, {"/P BMC ", "EMC "}},
}

// repeated returns a text of about so many bytes that repeats a few tokens of a kind, in one of several
// ways: in a row, in turn, or in each other.
func repeated(rng *rand.Rand, of tokens, size int) string {
	pick := func() string { return of.plain[rng.IntN(len(of.plain))] }
	some := func(most int) string {
		var b strings.Builder
		for range rng.IntN(most + 1) {
			b.WriteString(pick())
		}
		return b.String()
	}
	times := func(unit string) int { return max(1, size/max(1, len(unit))) }
	head, tail := some(3), some(3)
	switch rng.IntN(6) {
	case 0:
		one := pick()
		return head + strings.Repeat(one, times(one)) + tail
	case 1, 2:
		unit := pick() + pick() + some(3)
		return head + strings.Repeat(unit, times(unit)) + tail
	case 3:
		runs := 2 + rng.IntN(3)
		text := head
		for range runs {
			unit := pick() + some(1)
			text += strings.Repeat(unit, times(unit)/runs+1)
			if rng.IntN(2) == 0 {
				text += pick()
			}
		}
		return text + tail
	case 4:
		if len(of.pairs) > 0 {
			pair := of.pairs[rng.IntN(len(of.pairs))]
			n := times(pair[0] + pair[1])
			return head + strings.Repeat(pair[0], n) + some(2) + strings.Repeat(pair[1], n) + tail
		}
		fallthrough
	default:
		var b strings.Builder
		b.WriteString(head)
		words := []string{pick(), pick(), pick()}
		for b.Len() < size {
			b.WriteString(words[rng.IntN(len(words))])
			if rng.IntN(8) == 0 {
				b.WriteString(strconv.Itoa(b.Len()))
			}
		}
		return b.String()
	}
}

// hostileFile returns a file of a kind whose content is repeated tokens, and how many bytes it unpacks to.
func hostileFile(rng *rand.Rand, kind string, size int) (name string, data []byte, unpacked int) {
	packed := func(ending string, files map[string]string) (string, []byte, int) {
		n := 0
		for _, text := range files {
			n += len(text)
		}
		return "a" + ending, deflated(files), n
	}
	office := func(target string) string {
		return `<Relationships><Relationship Id="1" Type="x/officeDocument" Target="` + target + `"/></Relationships>`
	}
	const spaces = `xmlns:w="w" xmlns:r="r" xmlns:a="http://a/main" xmlns:p="p" xmlns:c="c" xmlns:dgm="dgm" xmlns:text="t" xmlns:table="u" xmlns:draw="d" xmlns:office="o"`
	wrap := func(name, text string) string { return "<" + name + " " + spaces + ">" + text + "</" + name + ">" }
	switch kind {
	case "md":
		text := repeated(rng, markdownTokens, size)
		return "a.md", []byte(text), len(text)
	case "html":
		text := "<html><body>" + repeated(rng, htmlTokens, size)
		return "a.html", []byte(text), len(text)
	case "txt":
		text := repeated(rng, textTokens, size)
		return "a.txt", []byte(text), len(text)
	case "csv":
		text := repeated(rng, csvTokens, size)
		return "a.csv", []byte(text), len(text)
	case "odt", "ods", "odp":
		media := map[string]string{"odt": ODT, "ods": ODS, "odp": ODP}[kind]
		return packed("."+kind, map[string]string{
			"mimetype":    media,
			"content.xml": wrap("office:body", repeated(rng, odfTokens, size)),
		})
	case "docx":
		return packed(".docx", map[string]string{
			"_rels/.rels": office("word/document.xml"), "word/document.xml": wrap("w:document", repeated(rng, docxTokens, size)),
			"word/_rels/document.xml.rels": `<Relationships><Relationship Id="f" Type="x/footnotes" Target="f.xml"/><Relationship Id="d" Type="x/diagramData" Target="d.xml"/><Relationship Id="c" Type="x/aFChunk" Target="c.html"/></Relationships>`,
			"word/f.xml":                   wrap("w:notes", `<w:footnote w:id="1"><w:p><w:t>`+strings.Repeat("note ", 1+rng.IntN(200))+`</w:t></w:p></w:footnote>`),
			"docProps/core.xml":            "<x><title>" + strings.Repeat("t<!-- -->", rng.IntN(size/16+1)) + "</title></x>",
			"word/d.xml":                   wrap("dgm:model", repeated(rng, diagramTokens, size/4)),
			"word/c.html":                  repeated(rng, htmlTokens, size/16),
		})
	case "pptx":
		return packed(".pptx", map[string]string{
			"_rels/.rels": office("ppt/presentation.xml"), "ppt/presentation.xml": wrap("p:presentation", `<p:sldId r:id="s"/>`),
			"ppt/_rels/presentation.xml.rels": `<Relationships><Relationship Id="s" Type="x/slide" Target="s.xml"/></Relationships>`,
			"ppt/s.xml":                       wrap("p:sld", repeated(rng, pptxTokens, size/2)),
			"ppt/_rels/s.xml.rels":            `<Relationships><Relationship Id="c" Type="x/chart" Target="c.xml"/><Relationship Id="d" Type="x/diagramData" Target="d.xml"/></Relationships>`,
			"ppt/c.xml":                       wrap("c:chart", repeated(rng, chartTokens, size/4)),
			"ppt/d.xml":                       wrap("dgm:model", repeated(rng, diagramTokens, size/4)),
		})
	case "xlsx":
		files := emptyWorkbook()
		files["xl/worksheets/sheet1.xml"] = `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">` +
			`<sheetData>` + repeated(rng, sheetTokens, size/2) + `</sheetData></worksheet>`
		files["xl/sharedStrings.xml"] = `<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">` +
			repeated(rng, stringTokens, size/2) + `</sst>`
		return packed(".xlsx", files)
	case "epub":
		return packed(".epub", map[string]string{
			"mimetype": EPUB, "META-INF/container.xml": `<container><rootfile full-path="p.opf"/></container>`,
			"p.opf":  `<package><title>` + strings.Repeat("t<!-- -->", rng.IntN(size/16+1)) + `</title><item id="a" media-type="html" href="a.html"/>` + strings.Repeat(`<itemref idref="a"/>`, 1+rng.IntN(40)) + `</package>`,
			"a.html": repeated(rng, htmlTokens, size/2),
		})
	case "eml":
		text := "From: a@b.c\nSubject: x\nMIME-Version: 1.0\n" + repeated(rng, mailTokens, size)
		return "a.eml", []byte(text), len(text)
	case "mbox":
		text := "From a\nSubject: x\nFrom: a@b.c\n\n" + repeated(rng, mailTokens, size/2) + strings.Repeat("\n\nFrom a\nSubject: b\n\nc", rng.IntN(size/64+1))
		return "a.mbox", []byte(text), len(text)
	case "pdf":
		text := pdfOf(repeated(rng, pdfTokens, size))
		return "a.pdf", text, len(text)
	case "zip":
		inner, data, n := hostileFile(rng, hostileKinds[rng.IntN(len(hostileKinds)-1)], size/2)
		files := map[string]string{}
		for i := range 1 + rng.IntN(5) {
			files[fmt.Sprint(i, inner)] = string(data)
		}
		return "a.zip", deflated(files), n * len(files)
	}
	panic(kind)
}

// hostileKinds are the kinds of hostileFile; the last one holds the others.
var hostileKinds = []string{
	"md", "html", "txt", "csv", "odt", "ods", "odp", "docx", "pptx", "xlsx", "epub", "eml", "mbox", "pdf", "zip",
}

// emptyWorkbook returns the parts of a workbook with one sheet.
func emptyWorkbook() map[string]string {
	book := excelize.NewFile()
	if err := book.SetCellStr("Sheet1", "A1", "a"); err != nil {
		panic(err)
	}
	b, err := book.WriteToBuffer()
	if err != nil {
		panic(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		panic(err)
	}
	files := map[string]string{}
	for _, f := range archive.File {
		in, err := f.Open()
		if err != nil {
			panic(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			panic(err)
		}
		files[f.Name] = string(text)
	}
	return files
}

// deflated makes an archive, with "mimetype" first.
func deflated(files map[string]string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if text, ok := files["mimetype"]; ok {
		f, _ := w.Create("mimetype")
		f.Write([]byte(text))
	}
	for name, text := range files {
		if name != "mimetype" {
			f, _ := w.Create(name)
			f.Write([]byte(text))
		}
	}
	w.Close()
	return b.Bytes()
}

// pdfOf returns a PDF of one page with the content, which is a form that it shows, too.
func pdfOf(content string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n" +
		"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R>>>>>>endobj\n" +
		"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n" +
		"6 0 obj<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Length 23>>stream\nBT /F 9 Tf (form) Tj ET\nendstream endobj\n")
	text := "BT /F 12 Tf 50 700 Td (page) Tj " + content
	fmt.Fprintf(&b, "4 0 obj<</Length %d>>stream\n%s\nendstream endobj\ntrailer<</Root 1 0 R>>\n%%%%EOF", len(text), text)
	return b.Bytes()
}

// TestRepeatedTokens reads files that repeat tokens of their format, which is how parsers are made to take
// the square of their input or more. Each is read, or refused with a reason, by a process that neither runs
// out of memory nor out of time. CONCLAVE_TEST_HOSTILE_FILES is how many files are read (default 300),
// CONCLAVE_TEST_HOSTILE_SEED their seed; slow ones are kept in CONCLAVE_TEST_HOSTILE_KEEP.
func TestRepeatedTokens(t *testing.T) {
	files := 300
	seed := uint64(50)
	keep := os.Getenv("CONCLAVE_TEST_HOSTILE_KEEP")
	if s := os.Getenv("CONCLAVE_TEST_HOSTILE_FILES"); s != "" {
		files, _ = strconv.Atoi(s)
	}
	if s := os.Getenv("CONCLAVE_TEST_HOSTILE_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Logf("seed %d, %d files", seed, files)
	rng := rand.New(rand.NewPCG(seed, seed))
	pool := newTestPool(t)
	r := NewExtractor(limits(), pool).For("", 100)
	read, refused := 0, 0
	for i := range files {
		kind := hostileKinds[i%len(hostileKinds)]
		name, data, unpacked := hostileFile(rng, kind, 1<<(11+rng.IntN(9)))
		began := time.Now()
		err := r.Expand(t.Context(), name, data, func(m Member) error {
			d, _, err := r.Read(t.Context(), Input{Name: m.Name, Data: m.Data})
			if err == nil {
				read++
				PassagesOf(About{ID: "a"}, d, m.Data, 100)
			}
			return err
		})
		took := time.Since(began)
		if err != nil {
			refused++
		}
		why := ""
		switch {
		case err != nil && ReasonOf(err) == "":
			why = "no reason"
		case ReasonOf(err) == TooSlow, err != nil && strings.Contains(err.Error(), "reader"):
			why = "ended"
		case took > 400*time.Millisecond:
			t.Logf("file %d (%s, %d bytes, %d unpacked) took %v: %v", i, name, len(data), unpacked,
				took.Round(time.Millisecond), err)
		}
		if why != "" {
			t.Errorf("file %d (%s, %d bytes, %d unpacked) after %v: %s: %v", i, name, len(data), unpacked,
				took.Round(time.Millisecond), why, err)
		}
		if keep != "" && (why != "" || took > 400*time.Millisecond) {
			os.WriteFile(filepath.Join(keep, fmt.Sprintf("%d-%s", i, name)), data, 0o644)
		}
	}
	t.Logf("%d read, %d refused", read, refused)
}
