package documents

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"golang.org/x/net/html/charset"
)

// deepest is how deep the elements of an XML part may be nested.
const deepest = 512

// elements reads the elements of an XML part one after the other. It knows only XML's own entities, so that no entity
// can expand to a large text.
type elements struct {
	*xml.Decoder
	depth int
}

// newElements returns a reader of the elements in an XML part, in any encoding that the part declares.
func newElements(data []byte) *elements {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.CharsetReader = charset.NewReaderLabel
	return &elements{Decoder: d}
}

// each calls start and end for every element, and text for the characters between them. An element for which start
// returns true is skipped with all that is in it. XML that is damaged or nested deeper than `deepest` is an
// *UnreadableError.
func (e *elements) each(start func(xml.StartElement) (skip bool), text func(string), end func(xml.EndElement)) error {
	for {
		token, err := e.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return unreadable(Damaged, err, "its XML is damaged")
		}
		switch t := token.(type) {
		case xml.StartElement:
			if start(t) {
				if err := e.Skip(); err != nil {
					return unreadable(Damaged, err, "its XML is damaged")
				}
				continue
			}
			if e.depth++; e.depth > deepest {
				return unreadable(TooLarge, nil, "its XML is nested more than %d deep", deepest)
			}
		case xml.EndElement:
			e.depth--
			end(t)
		case xml.CharData:
			text(string(t))
		}
	}
}

// value returns an attribute of an element by its local name, the first of several; "" if it is missing.
func value(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// relations returns the relationships of a part of an Office file by id, with the paths of their targets in the
// archive; none if the part has no relationships. Targets outside the file are left out. The error is an
// *UnreadableError if the relationships are damaged.
func (p *parts) relations(part string) (map[string]relation, error) {
	folder, name, _ := cutLast(part)
	data, err := p.read(folder + "_rels/" + name + ".rels")
	if err != nil {
		return nil, err
	}
	all := map[string]relation{}
	err = newElements(data).each(func(e xml.StartElement) bool {
		if e.Name.Local == "Relationship" && value(e, "TargetMode") != "External" {
			all[value(e, "Id")] = relation{
				kind:   value(e, "Type")[strings.LastIndexByte(value(e, "Type"), '/')+1:],
				target: within(folder, value(e, "Target")),
			}
		}
		return false
	}, func(string) {}, func(xml.EndElement) {})
	return all, err
}

// openOffice opens an Office file, and returns its parts, the content of its main part and the relationships of that.
// The error is an *UnreadableError if the file is damaged, encrypted or too large.
func openOffice(data []byte, limits Limits) (p *parts, document []byte, related map[string]relation, err error) {
	p, err = openParts(data, limits)
	if err != nil {
		return nil, nil, nil, err
	}
	root, err := p.relations("")
	if err != nil {
		return nil, nil, nil, err
	}
	part := ofKind(root, "officeDocument")
	document, err = p.read(part)
	if err != nil {
		return nil, nil, nil, err
	}
	if document == nil {
		return nil, nil, nil, unreadable(Damaged, nil, "its main part is missing")
	}
	related, err = p.relations(part)
	return p, document, related, err
}

// relation is a relationship of an Office part: the kind and the path of its target.
type relation struct{ kind, target string }

// ofKind returns the target of a relationship of a kind, any of several; "" if there is none.
func ofKind(all map[string]relation, kind string) string {
	for _, r := range all {
		if r.kind == kind {
			return r.target
		}
	}
	return ""
}

// within returns the cleaned path in an archive of a target: relative to a folder, which is "" or ends with a
// slash, or from the root if target begins with a slash. It cannot leave the archive.
func within(folder, target string) string {
	if !strings.HasPrefix(target, "/") {
		target = folder + target
	}
	var parts []string
	for part := range strings.SplitSeq(target, "/") {
		switch part {
		case "", ".":
		case "..":
			if len(parts) > 0 {
				parts = parts[:len(parts)-1]
			}
		default:
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "/")
}

// cutLast splits a path after its last slash, which stays with the folder; without one, folder is "" and found
// false.
func cutLast(path string) (folder, name string, found bool) {
	at := strings.LastIndexByte(path, '/')
	return path[:at+1], path[at+1:], at >= 0
}

// coreTitle returns the title in the properties of an Office file; "" if it has none.
func (p *parts) coreTitle() string {
	data, err := p.read("docProps/core.xml")
	if err != nil || data == nil {
		return ""
	}
	return titleIn(data)
}

// titleIn returns the text of the title elements in an XML part; "" if there are none or it cannot be read.
func titleIn(part []byte) string {
	var title strings.Builder
	in := false
	if newElements(part).each(
		func(e xml.StartElement) bool { in = e.Name.Local == "title"; return false },
		func(s string) {
			if in {
				title.WriteString(s)
			}
		},
		func(xml.EndElement) { in = false }) != nil {
		return ""
	}
	return clean(title.String())
}

// textOfPart returns the cleaned characters of the elements t in an XML part of an Office file, with a space after
// each element called block; "" for a nil part. The error is an *UnreadableError if the XML is damaged, beside the
// text before.
func textOfPart(part []byte, block string) (string, error) {
	var text strings.Builder
	inText := false
	err := newElements(part).each(func(e xml.StartElement) bool {
		inText = e.Name.Local == "t"
		return e.Name.Local == "instrText"
	}, func(s string) {
		if inText {
			text.WriteString(s)
		}
	}, func(e xml.EndElement) {
		inText = false
		if e.Name.Local == block {
			text.WriteByte(' ')
		}
	})
	return clean(text.String()), err
}
