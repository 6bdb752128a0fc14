package documents

import (
	"encoding/xml"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// addAside writes the diagrams and embedded files of the paragraph or table that was just read.
func (d *docx) addAside() {
	if len(d.tables) > 0 {
		return
	}
	for _, r := range d.aside {
		if d.err == nil {
			d.err = d.addPart(r)
		}
	}
	d.aside = nil
}

// addPart writes a diagram, or a file embedded in the text (altChunk). If its content cannot be read, a warning says
// so. The error is an *UnreadableError if the part cannot be unpacked or a limit is exceeded.
func (d *docx) addPart(r relation) error {
	data, err := d.parts.read(r.target)
	if err != nil || data == nil {
		return err
	}
	switch r.kind {
	case "diagramData":
		err = readDiagram(d.w, data)
	case "aFChunk":
		err = d.addFile(r.target, data)
	}
	if reason := ReasonOf(err); err != nil && reason != TooLarge {
		d.warnings = append(d.warnings, fmt.Sprintf("%s in it was left out: %v", r.target, err))
		return nil
	}
	return err
}

// addFile writes the text of a file embedded in the document: HTML, plain text or DOCX. Any other type is an
// *UnreadableError.
func (d *docx) addFile(name string, data []byte) error {
	switch mediaType := Detect(data, name, ""); mediaType {
	case HTML:
		text, err := d.w.decode(data, declaredInHTML(data, ""))
		if err != nil {
			return err
		}
		page, err := html.Parse(strings.NewReader(text))
		if err != nil {
			return unreadable(Damaged, err, "it is no HTML that can be read")
		}
		writeDOM(d.w, d.w.prune(page))
		return nil
	case Text, Markdown:
		_, err := readText(d.w, data, "")
		return err
	case DOCX:
		return d.addWordFile(data)
	default:
		return unreadable(Unsupported, nil, "files of type %s are not read there", mediaType)
	}
}

// addWordFile writes the text of a Word file embedded in this one. Both together must stay within the limits. The error
// is an *UnreadableError, also if files are nested deeper than Limits.Depth.
func (d *docx) addWordFile(data []byte) error {
	if d.depth == 0 {
		return unreadable(TooLarge, nil, "files are nested more than %d deep in it", d.w.limits.Depth)
	}
	limits := d.w.limits
	limits.UnpackedBytes = d.parts.left
	p, document, related, err := openOffice(data, limits)
	if err != nil {
		d.depth = 0 // how much it unpacked is not known: no other one is tried
		return err
	}
	inner := &docx{w: d.w, depth: d.depth - 1} // its pages are not those of the whole
	err = inner.readFile(p, document, related)
	d.parts.left = p.left
	d.warnings = append(d.warnings, inner.warnings...)
	return err
}

// nameHeads adds a warning with the number of page headers and footers that have text: they are not read.
func (d *docx) nameHeads() error {
	count, first := 0, ""
	for _, r := range d.related {
		if r.kind != "header" && r.kind != "footer" {
			continue
		}
		part, err := d.parts.read(r.target)
		if err != nil {
			return err
		}
		var text strings.Builder
		inText := false
		err = newElements(part).each(func(e xml.StartElement) bool {
			inText = e.Name.Local == "t"
			return e.Name.Local == "instrText"
		}, func(s string) {
			if inText {
				text.WriteString(s)
			}
		}, func(e xml.EndElement) {
			inText = false
			if e.Name.Local == "p" {
				text.WriteByte(' ')
			}
		})
		if err != nil {
			continue // what is not read cannot damage the rest
		}
		if said := clean(text.String()); strings.ContainsFunc(said, unicode.IsLetter) {
			count++
			if first == "" || said < first {
				first = said
			}
		}
	}
	if count > 0 {
		d.w.warn("%d headers and footers of pages were left out: %.80q", count, first)
	}
	return nil
}
