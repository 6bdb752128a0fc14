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

// formulaReader collects a formula in OMML, the markup of Word and PowerPoint, from its elements.
type formulaReader struct {
	open  []*mathElement // the elements around the place that is being read, the outermost first
	inRun bool           // characters are text of the formula
}

// reading reports whether the place that is being read is in a formula.
func (f *formulaReader) reading() bool { return len(f.open) > 0 }

// start begins an element: the outermost, oMath, or one inside of it. It returns true if the element is to be skipped.
func (f *formulaReader) start(e xml.StartElement) (skip bool) {
	f.inRun = e.Name.Local == "t"
	switch e.Name.Local {
	case "ctrlPr", "rPr":
		return true
	case "chr", "begChr", "endChr":
		if n := len(f.open); n > 0 {
			f.open[n-1].parts = append(f.open[n-1].parts, mathPart{e.Name.Local, value(e, "val")})
		}
	}
	f.open = append(f.open, &mathElement{name: e.Name.Local})
	return false
}

// say appends characters to the innermost element if they are in a run of text, else it drops them. It must only be
// called within a formula.
func (f *formulaReader) say(text string) {
	if f.inRun {
		f.open[len(f.open)-1].text.WriteString(text)
	}
}

// end ends the innermost element and adds its text to the element around it. With the end of the outermost element it
// returns the formula on one line and true. It panics outside of a formula. Before that it returns "" and false.
func (f *formulaReader) end() (formula string, done bool) {
	f.inRun = false
	n := len(f.open) - 1
	m := f.open[n]
	f.open = f.open[:n]
	text := m.written()
	if n == 0 {
		return text, true
	}
	around := f.open[n-1]
	if strings.HasSuffix(m.name, "Pr") { // of what it is: the signs around or before it
		around.parts = append(around.parts, m.parts...)
		return "", false
	}
	around.parts = append(around.parts, mathPart{m.name, text})
	if m.name == "f" {
		text = spaceBetweenDigits(around.text.String(), text)
	}
	around.text.WriteString(text)
	return "", false
}

// spaceBetweenDigits returns text, after a space if it begins with a digit and before ends with one.
func spaceBetweenDigits(before, text string) string {
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(text)
	if unicode.IsDigit(last) && unicode.IsDigit(first) {
		return " " + text
	}
	return text
}
