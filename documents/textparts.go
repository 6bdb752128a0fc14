package documents

import (
	"bytes"
	"fmt"
	"path"
	"strings"
)

// textPartShare divides Limits.TextBytes to give the size of a part of a long text. The text read from a part may be up
// to three times as long, in another encoding and with marks between the cells of a table.
const textPartShare = 3

// textParts splits a text of more than half of Limits.TextBytes, such as a log or an export, into files of whole
// lines, and a list in JSON into files with shorter lists, in order. The parts of a table of values all begin with
// its first line. Part 2 of a/b.log is named a/b.log/b-part-2.log. It returns nil for shorter texts and for files
// of other kinds. Parts may share memory with m.
func textParts(m Member, limits Limits) (parts []Member) {
	if len(m.Data) <= limits.TextBytes/2 {
		return nil
	}
	ending := path.Ext(m.Name)
	base := strings.TrimSuffix(path.Base(m.Name), ending)
	add := func(data []byte) {
		name := fmt.Sprintf("%s/%s-part-%d%s", m.Name, base, len(parts)+1, ending)
		parts = append(parts, Member{Name: name, Data: data})
	}
	lines := longLines{rest: m.Data, most: limits.TextBytes / textPartShare, mostLines: limits.Blocks / 2}
	switch Detect(m.Data, m.Name, "") {
	case Text:
		lines.start()
	case CSV, TSV:
		lines.start()
		lines.takeHead()
	case JSON:
		if list := newJSONList(m.Data, lines.most, lines.mostLines); list != nil {
			for part := list.next(); part != nil; part = list.next() {
				add(part)
			}
			return parts
		}
		if ending == ".json" {
			return nil // one value
		}
		lines.start()
	default:
		return nil
	}
	for len(lines.rest) > 0 {
		add(lines.next(len(parts) > 0))
	}
	return parts
}

// longLines divides a text into parts of whole lines.
type longLines struct {
	rest      []byte
	most      int // bytes of a part, unless a line is longer
	mostLines int
	// mark stands before each part: the byte order mark of UTF-16; nil for other encodings.
	mark  []byte
	end   []byte // of a line: one byte, or two in UTF-16
	head  []byte // the lines that each part but the first begins with
	units int    // bytes of a unit of the encoding
}

// start sets the bytes that end a line, and cuts off a byte order mark: of UTF-16, with or without a mark, those in
// its byte order, and otherwise \n.
func (l *longLines) start() {
	l.end = []byte("\n")
	l.units = 1
	little, big := []byte{0xFF, 0xFE}, []byte{0xFE, 0xFF}
	switch name := unmarkedUTF16(l.rest[:len(l.rest)&^1]); {
	case bytes.HasPrefix(l.rest, little), name == "UTF-16LE":
		l.mark = little
		l.end = []byte{'\n', 0}
	case bytes.HasPrefix(l.rest, big), name == "UTF-16BE":
		l.mark = big
		l.end = []byte{0, '\n'}
	default:
		return
	}
	l.units = 2
	l.rest = bytes.TrimPrefix(l.rest, l.mark)
}

// takeHead makes the table's first line, with a line such as "sep=;" before it, the head of each part. If that is
// longer than 16 KiB, there is no head.
func (l *longLines) takeHead() {
	const longestHead = 16 << 10
	end := l.line(l.rest)
	sep := strings.ReplaceAll(string(l.rest[:min(end, 20)]), "\x00", "")
	if strings.HasPrefix(strings.ToLower(sep), "sep=") {
		end += l.line(l.rest[end:])
	}
	if end < min(longestHead, l.most) && end < len(l.rest) {
		l.head = l.rest[:end:end]
	}
}

// line returns the length in bytes of the first line of a text, with its end.
func (l *longLines) line(text []byte) int {
	for from := 0; ; {
		at := bytes.Index(text[from:], l.end)
		if at < 0 {
			return len(text)
		}
		if (from+at)%l.units == 0 {
			return from + at + len(l.end)
		}
		from += at + 1
	}
}

// next takes the next part of the rest: as many lines as fit, at least one, with the head before them if headed and
// after the mark. Without either it shares memory with the text. l.rest must not be empty.
func (l *longLines) next(headed bool) []byte {
	end, count := 0, 0
	for end < min(len(l.rest), l.most-len(l.head)) && count < l.mostLines {
		next := l.line(l.rest[end:])
		if end > 0 && end+next > l.most-len(l.head) {
			break
		}
		end += next
		count++
	}
	end = max(end, min(len(l.rest), l.line(l.rest)))
	part := l.rest[:end:end]
	l.rest = l.rest[end:]
	if headed {
		part = append(l.head, part...)
	}
	if l.mark != nil {
		part = append(l.mark[:len(l.mark):len(l.mark)], part...)
	}
	return part
}

// visitingParts returns a function that calls visit for each part of a long text (textParts) in order, and for any
// other file once. It stops at the first error of visit and returns it.
func (r *Extractor) visitingParts(visit func(Member) error) func(Member) error {
	return func(m Member) error {
		parts := textParts(m, r.limits)
		if parts == nil {
			return visit(m)
		}
		for _, part := range parts {
			if err := visit(part); err != nil {
				return err
			}
		}
		return nil
	}
}
