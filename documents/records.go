package documents

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// deepestRecord is how deep values may be nested.
const deepestRecord = 200

// longestValue is the largest length in bytes of a value without spaces. Longer ones, such as encoded pictures, are
// left out.
const longestValue = 1000

// field is a value of a record with its name, such as "address.city".
type field struct{ name, value string }

// recordWriter writes records, each as a paragraph "name: value; name: value".
type recordWriter struct {
	w       *writer
	omitted int // values that were left out (longestValue)
}

// add writes a record as a paragraph: "name: value; name: value". Empty values are left out, and so are values of more
// than longestValue bytes without a space, which are counted.
func (r *recordWriter) add(fields []field) {
	var parts []string
	for _, f := range fields {
		value := strings.TrimSpace(f.value)
		switch {
		case value == "":
			continue
		case len(value) > longestValue && !strings.ContainsAny(value, " \n"):
			r.omitted++
			continue
		case f.name == "":
			parts = append(parts, value)
		default:
			parts = append(parts, f.name+": "+value)
		}
	}
	r.w.add(Paragraph, 0, strings.Join(parts, "; "))
}

// close adds a warning with the number of values that were left out, if any.
func (r *recordWriter) close() {
	if r.omitted > 0 {
		r.w.warn("%d values of more than %d characters without a space were left out", r.omitted, longestValue)
	}
}

// readJSON writes a JSON value or JSON lines to w. Each object in a list, and each line, becomes a record; values
// outside of lists become one record. Text that is no JSON is read as plain text; where it ceases to be JSON, the
// rest is left out with a warning. The title is "" for JSON. The error is an *UnreadableError if values are nested
// too deep or a limit is exceeded.
func readJSON(w *writer, text string) (string, error) {
	r := &jsonReader{out: recordWriter{w: w}, d: json.NewDecoder(strings.NewReader(text))}
	r.d.UseNumber()
	for {
		err := r.value("", 0, true)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			var unread *UnreadableError
			if errors.As(err, &unread) {
				return "", err
			}
			if len(w.blocks) == 0 && len(r.fields) == 0 {
				_, err := readText(w, []byte(text), "") // it is none
				return "", err
			}
			w.warn("it is no JSON from byte %d on: what is behind was left out", r.d.InputOffset())
			break
		}
		r.flush()
		if w.err != nil {
			return "", w.err
		}
	}
	r.flush()
	r.out.close()
	return "", nil
}

// jsonReader reads JSON values from a stream, without keeping the whole value.
type jsonReader struct {
	out    recordWriter
	d      *json.Decoder
	fields []field
}

// flush writes the fields read so far as a record, if there are any.
func (r *jsonReader) flush() {
	if len(r.fields) > 0 {
		r.out.add(r.fields)
		r.fields = r.fields[:0]
	}
}

// value reads the next JSON value and adds its texts, numbers and booleans to r.fields under names that begin with
// name; null is dropped. depth is how many values are around it. outer is true as long as the value is in no list:
// each element of a list in it is written as a record of its own. The error is io.EOF only at the end of the text,
// the decoder's, or an *UnreadableError if it is too deep or a limit is exceeded.
func (r *jsonReader) value(name string, depth int, outer bool) error {
	if depth > deepestRecord {
		return unreadable(TooLarge, nil, "its values are more than %d deep in each other", deepestRecord)
	}
	token, err := r.d.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case json.Delim:
		switch t {
		case '{':
			for r.d.More() {
				key, err := r.d.Token()
				if err != nil {
					return noEnd(err)
				}
				inner := fmt.Sprint(key)
				if name != "" {
					inner = name + "." + inner
				}
				if len(inner) > 200 {
					inner = fmt.Sprint(key)
				}
				if err := r.value(inner, depth+1, outer); err != nil {
					return noEnd(err)
				}
			}
		case '[':
			if outer {
				r.flush()
			}
			for r.d.More() {
				inner := name
				if outer {
					inner = ""
				}
				if err := r.value(inner, depth+1, false); err != nil {
					return noEnd(err)
				}
				if outer {
					r.flush()
				}
				if r.out.w.err != nil {
					return r.out.w.err
				}
			}
		}
		if _, err := r.d.Token(); err != nil {
			return noEnd(err)
		}
	case nil:
	default:
		r.fields = append(r.fields, field{name, fmt.Sprint(t)})
	}
	return nil
}

// noEnd returns an error of the decoder, with io.EOF replaced by io.ErrUnexpectedEOF.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// xmlElement is an XML element that is being read.
type xmlElement struct {
	name   string
	text   strings.Builder
	fields []field // of the elements in it that have text alone
}

// readXML writes the content of any XML as blocks, and returns its title: the first text of a title, head or
// heading element that becomes a heading; "" if there is none. An element with child elements becomes a record,
// whose fields are its attributes and the children with text alone. Text beside elements becomes a paragraph. If
// the XML is malformed, the rest is left out with a warning; without a block before, the text is read as plain
// text. The error is an *UnreadableError if elements nest more than deepestRecord deep or a limit is exceeded.
func readXML(w *writer, text string) (title string, err error) {
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict = false
	d.Entity = xml.HTMLEntity
	d.CharsetReader = passThrough
	out := recordWriter{w: w}
	var path []*xmlElement
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if len(w.blocks) == 0 {
				_, err := readText(w, []byte(text), "")
				return "", err
			}
			w.warn("it is no XML from byte %d on: what is behind was left out", d.InputOffset())
			break
		}
		switch t := token.(type) {
		case xml.StartElement:
			if len(path) > deepestRecord {
				return "", unreadable(TooLarge, nil, "its elements are more than %d deep in each other", deepestRecord)
			}
			e := &xmlElement{name: t.Name.Local}
			for _, a := range t.Attr {
				if a.Name.Space != "xmlns" && a.Name.Local != "xmlns" && !strings.HasPrefix(a.Name.Local, "schema") {
					e.fields = append(e.fields, field{a.Name.Local, a.Value})
				}
			}
			path = append(path, e)
		case xml.CharData:
			if len(path) > 0 {
				path[len(path)-1].text.Write(t)
			}
		case xml.EndElement:
			if len(path) == 0 {
				continue
			}
			e := path[len(path)-1]
			path = path[:len(path)-1]
			if found := endElement(&out, path, e); title == "" {
				title = found
			}
			if w.err != nil {
				return "", w.err
			}
		}
	}
	out.close()
	return title, nil
}

// endElement ends an XML element: it becomes a field of its parent, the last in path, or a record or heading in out. It
// returns the text of a title element; "" for others.
func endElement(out *recordWriter, path []*xmlElement, e *xmlElement) (title string) {
	text := strings.TrimSpace(e.text.String())
	leaf := len(e.fields) == 0
	var around *xmlElement
	if len(path) > 0 {
		around = path[len(path)-1]
	}
	switch name := strings.ToLower(e.name); {
	case leaf && text == "":
	case leaf && (name == "title" || name == "head" || name == "heading") && around != nil && len(around.fields) == 0:
		out.w.add(Heading, min(len(path), 6), text)
		return clean(text)
	case leaf && around != nil && strings.TrimSpace(around.text.String()) != "": // inside of a paragraph
		around.text.WriteString(text)
	case leaf && around != nil:
		around.fields = append(around.fields, field{e.name, text})
	default:
		if text != "" {
			e.fields = append([]field{{"", text}}, e.fields...)
		}
		out.add(e.fields)
	}
	return ""
}

// passThrough returns its input unchanged, whatever charset the XML names: the text is UTF-8 already.
func passThrough(_ string, in io.Reader) (io.Reader, error) { return in, nil }
