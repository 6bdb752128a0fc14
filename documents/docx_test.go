package documents

import (
	"strings"
	"testing"
)

// TestWordText: a Word file is read with the numbers of its clauses, and its fractions, powers and formulas as text.
func TestWordText(t *testing.T) {
	numbering := `<w:numbering xmlns:w="w"><w:abstractNum w:abstractNumId="0">
<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>
<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl>
<w:lvl w:ilvl="2"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="(%3)"/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="-"/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="2"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="upperRoman"/><w:pStyle w:val="Heading1"/><w:lvlText w:val="Part %1"/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>
<w:num w:numId="3"><w:abstractNumId w:val="2"/></w:num>
<w:num w:numId="4"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride></w:num></w:numbering>`
	styles := `<w:styles xmlns:w="w"><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="3"/></w:numPr></w:pPr></w:style></w:styles>`
	head := func(text string) string {
		return `<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>` + text + `</w:t></w:r></w:p>`
	}
	item := func(id, level, text string) string {
		return `<w:p><w:pPr><w:numPr><w:ilvl w:val="` + level + `"/><w:numId w:val="` + id + `"/></w:numPr></w:pPr><w:r><w:t>` + text + `</w:t></w:r></w:p>`
	}
	run := func(vertical, text string) string {
		return `<w:r><w:rPr><w:vertAlign w:val="` + vertical + `"/></w:rPr><w:t xml:space="preserve">` + text + `</w:t></w:r>`
	}
	m := func(name string, parts ...string) string {
		return "<m:" + name + ">" + strings.Join(parts, "") + "</m:" + name + ">"
	}
	mr := func(text string) string { return m("r", m("t", text)) }
	body := head(
		"Scope",
	) + item(
		"1", "0", "Goods",
	) + item(
		"1",
		"1",
		"Parts",
	) + item(
		"1", "1", "Tools",
	) + item(
		"1",
		"2",
		"small",
	) + item("1", "0", "Payment") +
		item(
			"1", "1", "Due",
		) + item(
		"2",
		"0",
		"a bullet",
	) + item(
		"4", "0", "Restarted",
	) + head(
		"End",
	) +
		`<w:p>` + run(
		"baseline",
		"Take 10",
	) + run(
		"superscript", "3",
	) + run(
		"baseline",
		" or 1",
	) + run(
		"superscript", "1",
	) + run(
		"baseline",
		"/",
	) +
		run(
			"subscript", "4",
		) + run(
		"baseline",
		" of H",
	) + run(
		"subscript", "2",
	) + run(
		"baseline",
		"O",
	) + `</w:p>` +
		`<w:p>` + run(
		"baseline",
		"Give 1",
	) + m(
		"oMath", m("f", m("fPr", m("ctrlPr")), m("num", mr("1")), m("den", mr("2"))),
	) + run(
		"baseline",
		", ",
	) +
		m(
			"oMath", m("sSup", m("e", mr("x")), m("sup", mr("n+1"))), mr("="), m("rad", m("deg"), m("e", mr("2"))),
		) + `</w:p>` +
		`<w:tbl><w:tr><w:tc><w:tcPr><w:vMerge w:val="restart"/></w:tcPr>` + para(
		"Region",
	) + `</w:tc><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr>` + para(
		"2024",
	) + `</w:tc></w:tr>` +
		`<w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p/></w:tc><w:tc>` + para(
		"Revenue",
	) + `</w:tc><w:tc>` + para(
		"Cost",
	) + `</w:tc></w:tr>` +
		`<w:tr><w:tc>` + para(
		"North",
	) + `</w:tc><w:tc>` + para(
		"10",
	) + `</w:tc><w:tc>` + para(
		"7",
	) + `</w:tc></w:tr></w:tbl>`
	data := wordOf(body, map[string]string{
		"word/_rels/document.xml.rels": related("numbering", "numbering.xml", "styles", "styles.xml"),
		"word/numbering.xml":           numbering, "word/styles.xml": styles,
	})
	want := `Part I Scope
1. Goods
1.1 Parts
1.2 Tools
(a) small
2. Payment
2.1 Due
a bullet
7. Restarted
Part II End
Take 10^3 or 1 1/4 of H2O
Give 1 1/2, x^(n+1)=√2
Region | 2024 › Revenue | 2024 › Cost
Region | 2024 › Revenue | 2024 › Cost » North | 10 | 7`
	if got := readAs(t, "a.docx", string(data)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
