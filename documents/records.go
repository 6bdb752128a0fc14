package documents

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// deepestRecord bounds how deep values are in each other.
const deepestRecord = 200

// longestValue bounds a value of a record in bytes: longer ones without a space are data, such as pictures.
const longestValue = 1000

// field is a value of a record behind the names of what it is in.
type field struct{ name, value string }

// recordWriter writes records: each is a paragraph of its fields, "name: value; name: value".
type recordWriter struct {
	w       *writer
	omitted int // values that are data
}

// add writes a record.
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

// close names what was left out.
func (r *recordWriter) close() {
	if r.omitted > 0 {
		r.w.warn("%d values of more than %d characters without a space were left out", r.omitted, longestValue)
	}
}

// readJSON reads JSON, or lines of JSON: the objects in a list are records, and so are the lines. Of what is in
// no list, each field of the outermost object is one.
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

// jsonReader reads the values of JSON one after the other, without keeping them.
type jsonReader struct {
	out    recordWriter
	d      *json.Decoder
	fields []field
}

// flush writes the fields that were read as a record.
func (r *jsonReader) flush() {
	if len(r.fields) > 0 {
		r.out.add(r.fields)
		r.fields = r.fields[:0]
	}
}

// value reads a value that has a name. Objects in a list are records where no record is around them (outer).
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

// noEnd returns the error for JSON that ends too early.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// xmlElement is an element that is being read.
type xmlElement struct {
	name   string
	text   strings.Builder
	fields []field // of the elements in it that have text alone
}

// readXML reads XML of any kind. Elements with text alone are fields of the element around them, which is a
// record; text beside elements is a paragraph, and a title or head is a heading.
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

// endElement writes an element that was read, or hands it to the one around it. It returns its text where it is a
// title.
func endElement(out *recordWriter, path []*xmlElement, e *xmlElement) (title string) {
	said := strings.TrimSpace(e.text.String())
	leaf := len(e.fields) == 0
	var around *xmlElement
	if len(path) > 0 {
		around = path[len(path)-1]
	}
	switch name := strings.ToLower(e.name); {
	case leaf && said == "":
	case leaf && (name == "title" || name == "head" || name == "heading") && around != nil && len(around.fields) == 0:
		out.w.add(Heading, min(len(path), 6), said)
		return clean(said)
	case leaf && around != nil && strings.TrimSpace(around.text.String()) != "": // inside of a paragraph
		around.text.WriteString(said)
	case leaf && around != nil:
		around.fields = append(around.fields, field{e.name, said})
	default:
		if said != "" {
			e.fields = append([]field{{"", said}}, e.fields...)
		}
		out.add(e.fields)
	}
	return ""
}

// passThrough reads a text that is UTF-8 already, whatever encoding it names.
func passThrough(_ string, in io.Reader) (io.Reader, error) { return in, nil }
