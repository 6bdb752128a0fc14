package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"example.org/conclave/internal/wording"
)

// Columns has the names of the columns of a table that become a passage's fields. "" stands for the usual names: id or
// _id, text or contents, title.
type Columns struct{ ID, Text, Title string }

// columns has the index of the column of each field of a passage; -1 if the table has none. The other columns become
// metadata by their names.
type columns struct {
	names                 []string
	id, text, title, tags int
}

// HeaderError is the error of a table whose header has no column for the ids or for the texts.
type HeaderError struct {
	Columns []string // of the header
	Absent  []string // columns that were looked for
}

// Error names the columns that the table has and those that it lacks.
func (e *HeaderError) Error() string {
	return fmt.Sprintf(
		"the table's columns are %s: it has no column %s; name the columns of the ids and of the texts",
		quoteNames(e.Columns), quoteNames(e.Absent),
	)
}

// quoteNames returns the names quoted and joined with commas: the first 12, and how many more there are.
func quoteNames(names []string) string {
	const most = 12
	var out []string
	for _, name := range names[:min(len(names), most)] {
		out = append(out, wording.Quote(name))
	}
	if len(names) > most {
		out = append(out, fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(out, ", ")
}

// findColumns returns which columns of a header hold the fields of a passage, -1 for a title or tags that it lacks.
// A field that want does not name is looked for by its usual names, exactly and then without regard to case. It
// returns a *HeaderError if the id, the text or a column named in want is missing, and a *FieldError if a name
// occurs twice or serves two fields.
func findColumns(names []string, want Columns) (columns, error) {
	c := columns{names: names}
	for i, name := range names {
		if name != "" && slices.Contains(names[:i], name) {
			return c, &FieldError{
				Value:   wording.Quote(strings.Join(names, ", ")),
				Problem: fmt.Sprintf("names column %s twice", wording.Quote(name)),
			}
		}
	}
	at := func(given string, usual ...string) int {
		if given != "" {
			return slices.Index(names, given)
		}
		for _, name := range usual {
			if i := slices.Index(names, name); i >= 0 {
				return i
			}
		}
		for _, name := range usual {
			if i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) }); i >= 0 {
				return i
			}
		}
		return -1
	}
	c.id, c.text = at(want.ID, "id", "_id"), at(want.Text, "text", "contents")
	c.title, c.tags = at(want.Title, "title"), at("", "tags")
	var absent []string
	for _, x := range []struct {
		at           int
		given, usual string
	}{{c.id, want.ID, "id"}, {c.text, want.Text, "text"}, {c.title, want.Title, ""}} {
		if name := x.given; x.at < 0 && (name != "" || x.usual != "") {
			if name == "" {
				name = x.usual
			}
			absent = append(absent, name)
		}
	}
	if absent != nil {
		return c, &HeaderError{Columns: names, Absent: absent}
	}
	for _, i := range []int{c.title, c.tags} {
		if i >= 0 && (i == c.id || i == c.text) || i >= 0 && i == c.title && i == c.tags {
			return c, &FieldError{Value: wording.Quote(names[i]), Problem: "is named as a column of two fields"}
		}
	}
	if c.id == c.text {
		return c, &FieldError{
			Value:   wording.Quote(names[c.id]),
			Problem: "is named as the column of the ids and of the texts",
		}
	}
	return c, nil
}

// passageOf returns the passage in a row, which must not have more fields than the header. Other columns become
// metadata, always as strings; empty cells are left out, and a column without a name is called column_3 by its
// number. The passage is not checked. The error is that of the tags (cellTags).
func (c *columns) passageOf(fields []string) (p Passage, err error) {
	for i, field := range fields {
		switch i {
		case c.id:
			p.ID = strings.TrimSpace(field)
		case c.text:
			p.Text = field
		case c.title:
			p.Title = field
		case c.tags:
			p.Tags, err = cellTags(field)
			if err != nil {
				return p, err
			}
		default:
			if strings.TrimSpace(field) == "" {
				continue
			}
			if p.Metadata == nil {
				p.Metadata = map[string]any{}
			}
			name := c.names[i]
			if name == "" {
				name = fmt.Sprintf("column_%d", i+1)
			}
			p.Metadata[name] = field
		}
	}
	return p, nil
}

// cellTags returns the tags in a cell: those of a JSON list, or else the texts between commas, without empty ones;
// nil if there are none. The error is a *FieldError for a JSON list that has other values than strings.
func cellTags(cell string) (tags []string, err error) {
	cell = strings.TrimSpace(cell)
	if strings.HasPrefix(cell, "[") && json.Valid([]byte(cell)) {
		err := parseTags([]byte(cell), &tags)
		return tags, err
	}
	for tag := range strings.SplitSeq(cell, ",") {
		tag = strings.TrimSpace(tag)
		if tag != "" {
			tags = append(tags, tag)
		}
	}
	return tags, nil
}

// splitHeader returns the column names in the first line of a table, without white space and quotes around them.
// comma is the byte between the fields, of which quoted names may have some.
func splitHeader(line []byte, comma byte) []string {
	fields, _ := splitQuoted(bytes.TrimRight(line, "\r\n"), comma)
	if fields == nil {
		fields = strings.Split(string(line), string(rune(comma)))
	}
	for i := range fields {
		fields[i] = strings.Trim(strings.TrimSpace(fields[i]), `"`)
	}
	return fields
}

// tableOf returns the format of a table and the byte between its fields, by its first line. ok is false if the line
// does not look like that of a table. If it does, but lacks a needed column or is not as want says, ok is true and err
// says why.
func tableOf(line []byte, want Columns) (format Format, comma byte, ok bool, err error) {
	var wrong error
	for _, comma := range []byte("\t,;") {
		names := splitHeader(line, comma)
		if len(names) < 2 {
			continue
		}
		c, err := findColumns(names, want)
		switch {
		case err != nil:
			if wrong == nil && (comma == '\t' || want != Columns{} || likeNames(names)) {
				wrong = err
			}
		case comma != '\t':
			return CSV, comma, true, nil
		case want == Columns{} && c.onlyDPR():
			return DPRTSV, comma, true, nil
		default:
			return TSV, comma, true, nil
		}
	}
	if id, _, tab := bytes.Cut(line, []byte("\t")); tab && (want == Columns{}) && bytes.Count(line, []byte("\t")) == 1 &&
		wholeNumber(id) {
		return MSMARCO, '\t', true, nil
	}
	return "", 0, wrong != nil, wrong
}

// onlyDPR reports whether all columns of a table are among those of DPR's passages: id, text and title, in any order. A
// table without columns has none of others.
func (c *columns) onlyDPR() bool {
	return !slices.ContainsFunc(
		c.names, func(name string) bool { return name != "id" && name != "text" && name != "title" },
	)
}

// likeNames reports whether the cells of a line look like names of columns: each has 1 to 40 bytes and at most one
// space.
func likeNames(cells []string) bool {
	return !slices.ContainsFunc(cells, func(cell string) bool {
		return cell == "" || len(cell) > 40 || strings.Count(cell, " ") > 1
	})
}

// wholeNumber reports whether b is one or more decimal digits.
func wholeNumber(b []byte) bool {
	return len(b) > 0 && len(bytes.Trim(b, "0123456789")) == 0
}
