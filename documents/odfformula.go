package documents

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"strings"

	"golang.org/x/net/html"
)

// readObject writes an object embedded in the file, such as a formula or a chart, by its path from the part that is
// being read; "" if it is in the element. Objects that are damaged or nested deeper than Limits.Depth, and charts
// of spreadsheets, are counted as left out. If a part cannot be unpacked or a limit is exceeded, it sets o.w.err.
// It always returns false: what is in the element is read, too.
func (o *odf) readObject(path string) (skip bool) {
	if path == "" { // it is in the element
		return false
	}
	folder := within(o.folder, path) + "/"
	content, err := o.parts.read(folder + "content.xml")
	chart := bytes.Contains(content[:min(len(content), 64<<10)], []byte("<chart:chart"))
	switch {
	case err != nil:
		o.w.err = cmp.Or(o.w.err, err)
		return false
	case len(content) == 0, o.objects >= o.w.limits.Depth:
		o.left.addObject("object")
		return false
	case chart && o.sheets: // its data are those of the sheet
		o.left.addObject("chart")
		return false
	}
	outer := o.folder
	o.folder = folder
	o.objects++
	err = o.read(content)
	o.objects--
	o.folder = outer
	o.hasObject = true
	if err != nil && ReasonOf(err) == TooLarge {
		o.w.err = cmp.Or(o.w.err, err)
	} else if err != nil {
		o.formula = nil
		o.left.addObject("damaged object")
	}
	return false
}

// startFormula begins an element of a formula in MathML: it adds the element below the current one, if there is one,
// and makes it the current one (o.formula).
func (o *odf) startFormula(e xml.StartElement) {
	n := &html.Node{Type: html.ElementNode, Data: e.Name.Local}
	if o.formula != nil {
		o.formula.AppendChild(n)
	}
	o.formula = n
}

// endFormula ends an element of a formula. With the outermost it appends the formula to the paragraph or footnote.
func (o *odf) endFormula() {
	n := o.formula
	o.formula = n.Parent
	if o.formula == nil {
		o.current().writeFormula(strings.TrimSpace(mathBelow(n, 0)))
	}
}
