package documents

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"

	"golang.org/x/net/html"
)

// addAside writes the diagrams and embedded files of the paragraph or table that was just read. The first error is
// kept in d.err; the parts after it are dropped. Inside a table it does nothing: they follow the table.
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

// addPart writes a diagram, a chart, or a file embedded in the text (altChunk). A missing part and other kinds
// write nothing. If its content cannot be read, a warning says so. The error is an *UnreadableError if the part
// cannot be unpacked or a limit is exceeded.
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
	case "chart":
		err = readChart(d.w, data)
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
	inner := &docx{w: d.w, depth: d.depth - 1, left: d.left} // its pages are not those of the whole
	err = inner.readFile(p, document, related)
	d.parts.left = p.left
	d.warnings = append(d.warnings, inner.warnings...)
	return err
}

// nameHeads counts the page headers and footers that have text as left out. It skips a part whose XML is damaged, and
// fails if a part cannot be unpacked.
func (d *docx) nameHeads() error {
	for _, r := range d.related {
		if r.kind != "header" && r.kind != "footer" {
			continue
		}
		part, err := d.parts.read(r.target)
		if err != nil {
			return err
		}
		text, err := textOfPart(part, "p")
		if err != nil {
			continue // what is not read cannot damage the rest
		}
		d.left.addFooter(text)
	}
	return nil
}

// nameComments counts the comments in the margin as left out. The error says that their part cannot be unpacked.
func (d *docx) nameComments() error {
	part, err := d.parts.read(ofKind(d.related, "comments"))
	if err != nil {
		return err
	}
	if text, err := textOfPart(part, "p"); err == nil && text != "" {
		d.left.addComments(bytes.Count(part, []byte("<w:comment ")), text)
	}
	return nil
}

// readNotes reads the texts of a Word file's notes of a kind, "footnote" or "endnote", into d.notes. It leaves out
// the lines that separate notes from the text. A file without such notes is no error; damaged XML is an
// *UnreadableError.
func (d *docx) readNotes(kind string) error {
	part, err := d.parts.read(ofKind(d.related, kind+"s"))
	if err != nil || part == nil {
		return err
	}
	inner := &docx{w: &writer{limits: d.w.limits}, parts: d.parts, styles: d.styles, left: d.left}
	key := ""
	return newElements(part).each(func(e xml.StartElement) bool {
		if e.Name.Local == kind && !inner.math.reading() {
			key = kind + " " + value(e, "id")
			inner.line.take()
			return value(e, "type") != "" && value(e, "type") != "normal"
		}
		if !inner.math.reading() && e.Name.Local == "p" {
			inner.say(" ")
			inner.vertical = onLine
			return false
		}
		return inner.startInline(e)
	}, inner.characters, func(e xml.EndElement) {
		if e.Name.Local == kind && !inner.math.reading() {
			d.notes[key] = clean(inner.line.take())
			return
		}
		inner.endInline(e)
	})
}
