package documents

import (
	"encoding/xml"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mathElement is an element of a Word formula (OMML) that is being read.
type mathElement struct {
	name  string
	text  strings.Builder
	parts []mathPart
}

// mathPart is the name and the finished text of a child of a mathElement.
type mathPart struct{ name, text string }

// part returns the text of the first child element of this name; "" if there is none.
func (m *mathElement) part(name string) string {
	for _, p := range m.parts {
		if p.name == name {
			return p.text
		}
	}
	return ""
}

// all returns the texts of all child elements of this name.
func (m *mathElement) all(name string) (texts []string) {
	for _, p := range m.parts {
		if p.name == name {
			texts = append(texts, p.text)
		}
	}
	return texts
}

// written returns the element as text on one line: "1/2", "10^3", "√x".
func (m *mathElement) written() string {
	switch m.name {
	case "f":
		return writeFraction(m.part("num"), m.part("den"))
	case "sSup":
		return writePower(m.part("e"), m.part("sup"))
	case "sSub":
		return writeIndex(m.part("e"), m.part("sub"))
	case "sSubSup":
		return writePower(writeIndex(m.part("e"), m.part("sub")), m.part("sup"))
	case "limLow":
		return writeIndex(m.part("e"), m.part("lim"))
	case "limUpp":
		return writePower(m.part("e"), m.part("lim"))
	case "rad":
		if degree := strings.TrimSpace(m.part("deg")); degree != "" {
			return writePower(inParentheses(m.part("e")), "1/"+degree)
		}
		return "√" + inParentheses(m.part("e"))
	case "nary":
		sign := m.part("chr")
		if sign == "" {
			sign = "∫"
		}
		return writePower(writeIndex(sign, m.part("sub")), m.part("sup")) + " " + m.part("e")
	case "d":
		begin, end := m.part("begChr"), m.part("endChr")
		if begin == "" && end == "" {
			begin, end = "(", ")"
		}
		return begin + strings.Join(m.all("e"), ", ") + end
	case "func":
		return m.part("fName") + " " + m.part("e")
	case "mr":
		return strings.Join(m.all("e"), ", ")
	case "m":
		return strings.Join(m.all("mr"), "; ")
	case "eqArr":
		return strings.Join(m.all("e"), "; ")
	}
	return m.text.String()
}

// startMath begins an element of a formula, or returns true if the element has to be skipped.
func (d *docx) startMath(e xml.StartElement) (skip bool) {
	switch e.Name.Local {
	case "ctrlPr", "rPr":
		return true
	case "chr", "begChr", "endChr":
		top := d.math[len(d.math)-1]
		top.parts = append(top.parts, mathPart{e.Name.Local, value(e, "val")})
	}
	d.math = append(d.math, &mathElement{name: e.Name.Local})
	return false
}

// endMath ends the innermost element of the formula and adds its text to the element around it; the text of the whole
// formula goes to the paragraph.
func (d *docx) endMath() {
	n := len(d.math) - 1
	m := d.math[n]
	d.math = d.math[:n]
	text := m.written()
	first, _ := utf8.DecodeRuneInString(text)
	if n == 0 {
		d.endRaised("")
		if before, _ := utf8.DecodeLastRuneInString(d.line.String()); unicode.IsDigit(before) &&
			unicode.IsDigit(first) {
			text = " " + text // one and a half
		}
		d.say(text)
		return
	}
	around := d.math[n-1]
	if strings.HasSuffix(m.name, "Pr") { // of what it is: the signs around or before it
		around.parts = append(around.parts, m.parts...)
		return
	}
	around.parts = append(around.parts, mathPart{m.name, text})
	before, _ := utf8.DecodeLastRuneInString(around.text.String())
	if m.name == "f" && unicode.IsDigit(before) && unicode.IsDigit(first) {
		around.text.WriteByte(' ')
	}
	around.text.WriteString(text)
}
