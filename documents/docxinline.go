package documents

import (
	"encoding/xml"
	"strconv"
)

// startInline begins an element inside of a paragraph of Word, such as a run, its text or a formula. It returns true if
// the element is to be skipped with all that is in it.
func (d *docx) startInline(e xml.StartElement) (skip bool) {
	if d.math.reading() {
		return d.math.start(e)
	}
	switch e.Name.Local {
	case "Fallback", "del", "moveFrom", "instrText", "delText", "sectPr", "pPrChange", "rPrChange":
		return true // the same content for older programs; what is deleted; codes of fields
	case "oMath":
		d.math.start(e)
	case "r":
		d.vertical = onLine
	case "vertAlign":
		d.vertical = map[string]vertical{"superscript": superscript, "subscript": subscript}[value(e, "val")]
	case "t":
		d.inText = true
	case "tab":
		d.say("\t")
	case "br", "cr":
		if value(e, "type") == "page" && d.paged {
			return false // Word marked the page that follows
		}
		d.say("\n")
	case "noBreakHyphen":
		d.say("-")
	case "sym":
		d.say(symbolOf(value(e, "font"), value(e, "char")))
	case "pic", "imagedata":
		d.left.pictures++
	case "OLEObject":
		d.left.addObject(value(e, "ProgID"))
	}
	return false
}

// characters appends characters to the formula or the paragraph if they are text.
func (d *docx) characters(text string) {
	switch {
	case d.math.reading():
		d.math.say(text)
	case d.inText:
		d.say(text)
	}
}

// endInline ends an element inside of a paragraph. At the end of a formula it appends that to the paragraph.
func (d *docx) endInline(e xml.EndElement) {
	if d.math.reading() {
		if formula, done := d.math.end(); done {
			d.line.writeFormula(formula)
		}
		return
	}
	if e.Name.Local == "t" {
		d.inText = false
	}
}

// say appends text to the paragraph, raised or lowered as d.vertical tells.
func (d *docx) say(text string) { d.line.write(text, d.vertical) }

// symbolOf returns the character with a hexadecimal code in a font; "" if the code is no number. A code of the font
// Symbol becomes the Unicode character with its shape; other codes from U+F000 to U+F0FF, whose shapes only their font
// knows, become U+FFFD, except for the usual bullet.
func symbolOf(font, code string) string {
	n, err := strconv.ParseUint(code, 16, 21)
	if err != nil {
		return ""
	}
	if n < 0xF000 || n > 0xF0FF {
		if n < 0x100 && font == "Symbol" {
			return shapeInSymbol(byte(n))
		}
		return string(rune(n))
	}
	if font == "Symbol" {
		return shapeInSymbol(byte(n))
	}
	if n == 0xF0B7 {
		return "•"
	}
	return "\ufffd"
}

// shapeInSymbol returns the Unicode character for a code of the font Symbol; U+FFFD if it has none.
func shapeInSymbol(code byte) string {
	const (
		lower = " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
		upper = "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑"
	)
	shapes := []rune(lower)
	first := byte(0x20)
	if code >= 0xA0 {
		shapes = []rune(upper)
		first = 0xA0
	}
	if code < first || int(code-first) >= len(shapes) {
		return "\ufffd"
	}
	return string(shapes[code-first])
}
