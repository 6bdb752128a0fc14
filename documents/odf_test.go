package documents

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

const odfNames = `xmlns:office="o" xmlns:text="t" xmlns:style="s" xmlns:draw="d" xmlns:xlink="x" xmlns:table="b" ` +
	`xmlns:svg="urn:svg" xmlns:chart="c" xmlns:math="http://www.w3.org/1998/Math/MathML"`

// odfOf returns an OpenDocument file of a type: its automatic styles, its common styles and its body.
func odfOf(mediaType, automatic, common, body string, others map[string]string) []byte {
	files := map[string]string{
		"mimetype":   mediaType,
		"styles.xml": `<office:document-styles ` + odfNames + `>` + common + `</office:document-styles>`,
		"content.xml": `<office:document-content ` + odfNames + `><office:automatic-styles>` + automatic +
			`</office:automatic-styles><office:body>` + body + `</office:body></office:document-content>`,
	}
	maps.Copy(files, others)
	return zipOf(files)
}

// TestODFText: numbers of lists and headings, powers, formulas and charts of OpenDocument are text, and what is not
// read is named.
func TestODFText(t *testing.T) {
	level := func(n, format, more string) string {
		return `<text:list-level-style-number text:level="` + n + `" style:num-format="` + format + `" ` + more + `/>`
	}
	automatic := `<text:list-style style:name="L1">` + level("1", "1", `style:num-suffix="."`) +
		level("2", "1", `text:display-levels="2"`) + level("3", "a", `style:num-prefix="(" style:num-suffix=")"`) +
		`</text:list-style><text:list-style style:name="L2"><text:list-level-style-bullet text:level="1"/></text:list-style>` +
		`<style:style style:name="T1"><style:text-properties style:text-position="super 58%"/></style:style>` +
		`<style:style style:name="T2"><style:text-properties style:text-position="-25% 58%"/></style:style>` +
		`<style:style style:name="T3" style:parent-style-name="T1"/>` +
		`<style:style style:name="P1" style:parent-style-name="Heading_20_2" style:list-style-name=""/>`
	common := `<text:outline-style style:name="Outline"><text:outline-level-style text:level="1" style:num-format="I" ` +
		`style:num-prefix="Part "/><text:outline-level-style text:level="2" style:num-format="1" ` +
		`text:display-levels="2"/></text:outline-style>` +
		`<office:automatic-styles><style:style style:name="T1"/></office:automatic-styles>` +
		`<style:header><text:p>Draft of May</text:p></style:header>`
	item := func(attributes, text string) string {
		return `<text:list-item ` + attributes + `>` + text + `</text:list-item>`
	}
	p := func(text string) string { return `<text:p>` + text + `</text:p>` }
	span := func(style, text string) string {
		return `<text:span text:style-name="` + style + `">` + text + `</text:span>`
	}
	object := func(path string) string {
		return `<draw:frame><draw:object xlink:href="./` + path + `"/><draw:image xlink:href="r"/></draw:frame>`
	}
	body := `<text:h text:outline-level="1">Scope</text:h>` +
		`<text:list text:style-name="L1" xml:id="x">` + item("", p("Goods")+`<text:list>`+item("", p("Parts"))+
		item("", p("Tools")+p("more")+`<text:list>`+item("", p("small"))+`</text:list>`)+`</text:list>`) +
		item("", p("Payment")) + `</text:list>` + p("Between.") +
		`<text:list text:style-name="L1" text:continue-numbering="true">` + item("", p("Due")) +
		item(`text:start-value="9"`, p("Last")) + `<text:list-header>` + p("without") + `</text:list-header></text:list>` +
		`<text:list text:style-name="L1">` + item("", p("New")) + `</text:list>` +
		`<text:list text:style-name="L2">` + item("", p("bullet")) + `</text:list>` +
		`<text:h text:outline-level="2">Terms</text:h><text:h text:outline-level="1"><text:number>Part II</text:number>` +
		`End</text:h><text:h text:style-name="P1" text:outline-level="2">Plain</text:h>` +
		p(`Take 10`+span("T1", "3")+` or 5·10`+span("T3", "−2")+` of H`+span("T2", "2")+`O, 1`+object("Object 1")+
			` tablets`+`<text:note><text:note-citation>1</text:note-citation><text:note-body>`+p("At 10"+span("T1", "6"))+
			`</text:note-body></text:note>.`+`<office:annotation>`+p("Really?")+`</office:annotation>`) +
		p(`See `+object("Object 2")+`<draw:frame><draw:image xlink:href="p.png"/><svg:title>name</svg:title></draw:frame>`+
			`<draw:frame><draw:object-ole/></draw:frame>`) +
		p(`<draw:frame><draw:object><math:math><math:mroot><math:mi>x</math:mi><math:mn>3</math:mn></math:mroot></math:math>`+
			`</draw:object></draw:frame> inside`) +
		`<text:table-of-content>` + p("Scope 1") + `</text:table-of-content>`
	data := odfOf(ODT, automatic, common, body, map[string]string{
		"Object 1/content.xml": `<!DOCTYPE math:math PUBLIC "-//OpenOffice.org//DTD Modified W3C MathML 1.01//EN" "math.dtd">` +
			`<math:math xmlns:math="http://www.w3.org/1998/Math/MathML"><math:semantics><math:mfrac><math:mn>1</math:mn>` +
			`<math:mn>2</math:mn></math:mfrac><math:annotation math:encoding="StarMath 5.0">1 over 2</math:annotation>` +
			`</math:semantics></math:math>`,
		"Object 2/content.xml": `<office:document-content ` + odfNames + `><chart:chart><chart:title><text:p>Rain</text:p>` +
			`</chart:title><table:table><table:table-row><table:table-cell><text:p>Year</text:p></table:table-cell>` +
			`<table:table-cell><text:p>mm</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell>` +
			`<text:p>2023</text:p></table:table-cell><table:table-cell><text:p>42</text:p></table:table-cell></table:table-row>` +
			`</table:table></chart:chart></office:document-content>`,
	})
	d, _, err := NewExtractor(limits(), nil).Read(t.Context(), Input{Name: "a.odt", Data: data})
	if err != nil {
		t.Fatal(err)
	}
	want := `heading1: Part I Scope
item1: 1. Goods
item2: 1.1 Parts
item2: 1.2 Tools
item2: more
item3: (a) small
item1: 2. Payment
paragraph: Between.
item1: 3. Due
item1: 9. Last
item1: without
item1: 1. New
item1: bullet
heading2: I.1 Terms
heading1: Part II End
heading2: Plain
paragraph: Take 10^3 or 5·10^−2 of H2O, 1 1/2 tablets.
note: At 10^6
paragraph: See
paragraph: Rain
row: Year | mm
row [Year | mm]: 2023 | 42
paragraph: x^(1/3) inside
`
	if got := outline(d); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, said := range []string{"Draft of May", "1 comments", "1 pictures", "OLE", "1 tables of contents"} {
		if !slices.ContainsFunc(d.Warnings, func(w string) bool { return strings.Contains(w, said) }) {
			t.Errorf("%q is not named: %q", said, d.Warnings)
		}
	}
}

// TestODFCells: cells for which a program wrote no text have their value, and empty cells keep their columns.
func TestODFCells(t *testing.T) {
	cell := func(attributes, text string) string {
		if text != "" {
			text = `<text:p>` + text + `</text:p>`
		}
		return `<table:table-cell ` + attributes + `>` + text + `</table:table-cell>`
	}
	row := func(cells ...string) string {
		return `<table:table-row>` + strings.Join(cells, "") + `</table:table-row>`
	}
	body := `<table:table table:name="Stock"><table:shapes><draw:frame><draw:text-box><text:p>Drawn</text:p></draw:text-box>` +
		`</draw:frame></table:shapes>` +
		row(cell("", "Part"), cell("", "Share"), cell("", "Since"), cell("", "Price")) +
		row(cell("", "bolt"), cell(`office:value-type="percentage" office:value="0.25"`, ""),
			cell(`office:value-type="date" office:date-value="2024-05-01"`, ""),
			cell(`office:value-type="currency" office:value="1.5" office:currency="EUR"`, "")) +
		row(cell("", "nut"), cell(`table:number-columns-repeated="2"`, ""), cell(`office:value="7"`, "7,00 €")) +
		row(cell("", "pin"), cell(`table:formula="of:=1+1"`, "")) + `</table:table>`
	d, _, err := NewExtractor(limits(), nil).Read(t.Context(), Input{Name: "a.ods", Data: odfOf(ODS, "", "", body, nil)})
	if err != nil {
		t.Fatal(err)
	}
	const head = "1 row [Part | Share | Since | Price]: "
	want := "1 heading1: Stock\n1 paragraph: Drawn\n1 row: Part | Share | Since | Price\n" +
		head + "bolt | 25% | 2024-05-01 | 1.5 EUR\n" + head + "nut | | | 7,00 €\n" + head + "pin\n"
	if got := outline(d); got != want || len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "1 formulas") {
		t.Errorf("got\n%s\nwant\n%s%q", got, want, d.Warnings)
	}
}
