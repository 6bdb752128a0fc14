package documents

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
)

// namesAll reports an error for each of texts that is in no warning of a document.
func namesAll(t *testing.T, d *Document, texts ...string) {
	t.Helper()
	for _, said := range texts {
		if !slices.ContainsFunc(d.Warnings, func(w string) bool { return strings.Contains(w, said) }) {
			t.Errorf("no warning has %q: %q", said, d.Warnings)
		}
	}
}

// TestSlideText: powers, formulas and numbers of lists on slides are text, and what is not read is named.
func TestSlideText(t *testing.T) {
	para := func(properties string, runs ...string) string {
		return `<a:p><a:pPr ` + properties + `</a:pPr>` + strings.Join(runs, "") + `</a:p>`
	}
	run := func(baseline, text string) string {
		return `<a:r><a:rPr baseline="` + baseline + `"/><a:t>` + text + `</a:t></a:r>`
	}
	shape := func(kind string, paragraphs ...string) string {
		return `<p:sp><p:nvPr><p:ph type="` + kind + `"/></p:nvPr><p:txBody>` + strings.Join(paragraphs, "") +
			`</p:txBody></p:sp>`
	}
	const auto = `><a:buAutoNum type="arabicPeriod"/>`
	formula := `<mc:AlternateContent><mc:Choice><a14:m><m:oMathPara><m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num>` +
		`<m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath></m:oMathPara></a14:m></mc:Choice>` +
		`<mc:Fallback><a:r><a:t>?</a:t></a:r></mc:Fallback></mc:AlternateContent>`
	slide := `<p:sld xmlns:p="p" xmlns:a="a" xmlns:m="m" xmlns:mc="mc" xmlns:a14="a14">` +
		shape("title", para(">", run("0", "Dosage"))) +
		shape("body",
			para(">", run("0", "At most 10"), run("30000", "3"), run("0", " of H"), run("-25000", "2"), run("0", "O, 1"),
				formula, run("0", " tablets")),
			para(auto, run("0", "open")), para(auto, run("0", "turn")),
			para(`lvl="1"><a:buAutoNum type="alphaLcParenBoth"/>`, run("0", "left")),
			para(auto, run("0", "close")), para(">", run("0", "Then")), para(auto, run("0", "again")),
			para(`><a:buAutoNum type="romanUcPeriod" startAt="4"/>`, run("0", "fourth"))) +
		shape("ftr", para(">", run("0", "Draft of May"))) + shape("sldNum", para(">", run("0", "7"))) +
		`<p:pic/><p:oleObj progId="Equation.3"/></p:sld>`
	data := zipOf(map[string]string{
		"_rels/.rels": related("officeDocument", "ppt/presentation.xml"),
		"ppt/presentation.xml": `<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst><p:sldId id="256" r:id="r1"/>` +
			`</p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels":  related("slide", "slides/slide1.xml"),
		"ppt/slides/slide1.xml":            slide,
		"ppt/slides/_rels/slide1.xml.rels": related("comments", "../comments/comment1.xml"),
		"ppt/comments/comment1.xml":        `<p:cmLst xmlns:p="p"><p:cm><p:text>Really?</p:text></p:cm></p:cmLst>`,
	})
	d, _, err := NewExtractor(limits(), nil).Read(t.Context(), Input{Name: "a.pptx", Data: data})
	if err != nil {
		t.Fatal(err)
	}
	want := `1 heading2: Dosage
1 item1: At most 10^3 of H2O, 1 1/2 tablets
1 item1: 1. open
1 item1: 2. turn
1 item2: (a) left
1 item1: 3. close
1 item1: Then
1 item1: 1. again
1 item1: IV. fourth
`
	if got := outline(d); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	namesAll(t, d, "Draft of May", "1 pictures", "Equation.3", "Really?")
}

// TestWordAside: endnotes, charts and symbols of Word are read, numbers do not depend on the order in which a paragraph
// names style and list, and what is not read is named.
func TestWordAside(t *testing.T) {
	note := func(kind, id, text string) string {
		return `<w:` + kind + `s xmlns:w="w"><w:` + kind + ` w:id="` + id + `"><w:p><w:r><w:t>` + text +
			`</w:t></w:r><w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>6</w:t></w:r></w:p></w:` + kind + `></w:` +
			kind + `s>`
	}
	body := `<w:p><w:r><w:t>Text</w:t></w:r><w:r><w:footnoteReference w:id="1"/></w:r><w:r><w:endnoteReference w:id="1"/></w:r>` +
		`<w:r><w:t xml:space="preserve"> x </w:t><w:sym w:font="Symbol" w:char="F0B3"/><w:t xml:space="preserve"> 3</w:t></w:r></w:p>` +
		`<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr><w:pStyle w:val="Compact"/></w:pPr>` +
		`<w:r><w:t>Goods</w:t></w:r></w:p>` +
		`<w:p><w:r><w:drawing><c:chart xmlns:c="c" r:id="r4"/></w:drawing><w:drawing><pic:pic xmlns:pic="pic"/></w:drawing>` +
		`<w:object><o:OLEObject xmlns:o="o" ProgID="Equation.3"/></w:object></w:r></w:p>`
	chart := `<c:chartSpace xmlns:c="c" xmlns:a="a"><c:chart><c:title><a:t>Rain</a:t></c:title><c:ser><c:tx><c:v>mm</c:v></c:tx>` +
		`<c:cat><c:v>2023</c:v></c:cat><c:val><c:v>42</c:v></c:val></c:ser></c:chart></c:chartSpace>`
	data := wordOf(body, map[string]string{
		"word/_rels/document.xml.rels": related("footnotes", "f.xml", "endnotes", "e.xml", "numbering", "n.xml",
			"chart", "c.xml", "comments", "k.xml"),
		"word/f.xml": note("footnote", "1", "At the foot 10"),
		"word/e.xml": note("endnote", "1", "At the end 10"),
		"word/n.xml": `<w:numbering xmlns:w="w"><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/>` +
			`<w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl></w:abstractNum><w:num w:numId="1">` +
			`<w:abstractNumId w:val="0"/></w:num></w:numbering>`,
		"word/c.xml": chart,
		"word/k.xml": `<w:comments xmlns:w="w"><w:comment w:id="0"><w:p><w:r><w:t>Really?</w:t></w:r></w:p></w:comment></w:comments>`,
	})
	d, _, err := NewExtractor(limits(), nil).Read(t.Context(), Input{Name: "a.docx", Data: data})
	if err != nil {
		t.Fatal(err)
	}
	want := `paragraph: Text x ≥ 3
note: At the foot 10^6
note: At the end 10^6
item1: 1. Goods
caption: Rain
row: mm | 2023: 42
`
	if got := outline(d); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	namesAll(t, d, "1 pictures", "Equation.3", "Really?")
}

// TestRTFAside: what is not read of RTF is named.
func TestRTFAside(t *testing.T) {
	data := `{\rtf1{\header Draft of {\b May}\par}Text {\*\shppict{\pict 00ff}}{\nonshppict{\pict 00ff}}{\pict 00ff}` +
		`{\object{\*\objclass Equation.3}{\result{\pict 00}}}{\mmath{\*\moMath{\mf}}}{\*\annotation no}end.\par}`
	d, _, err := NewExtractor(limits(), nil).Read(t.Context(), Input{Name: "a.rtf", Data: []byte(data)})
	if err != nil {
		t.Fatal(err)
	}
	if d.Text != "Text end." {
		t.Errorf("%q", d.Text)
	}
	namesAll(t, d, "Draft of May", "2 pictures", `2 objects of other programs in it were left out: "formula", "object"`, "1 comments")
}

// TestSheetNumbers: long numbers of cells without a format keep their digits, and what is beside the cells of a
// workbook is named.
func TestSheetNumbers(t *testing.T) {
	book := excelize.NewFile()
	scientific, err := book.NewStyle(&excelize.Style{NumFmt: 11})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		book.SetSheetRow("Sheet1", "A1", &[]any{"Article", "Count", "Share"}),
		book.SetSheetRow("Sheet1", "A2", &[]any{4006381333931, 12345.678, 0.00000012}),
		book.SetSheetRow("Sheet1", "A3", &[]any{123456789012, 2, -1}),
		book.SetCellStyle("Sheet1", "B2", "B2", scientific),
		book.AddComment("Sheet1", excelize.Comment{Cell: "A3", Text: "Really?"}),
		book.AddShape("Sheet1", &excelize.Shape{
			Cell: "E5", Type: "rect", Paragraph: []excelize.RichTextRun{{Text: "Text in a box"}},
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	data, err := book.WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := NewExtractor(limits(), nil).Read(t.Context(), Input{Name: "a.xlsx", Data: data.Bytes()})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"4006381333931 | 1.23E+04 | ", "123456789012 | 2 | -1"} {
		if !strings.Contains(d.Text, want) {
			t.Errorf("%q is not in %q", want, d.Text)
		}
	}
	namesAll(t, d, "Really?", "Text in a box")
}
