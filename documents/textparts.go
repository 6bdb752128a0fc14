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

// textParts splits a text that is too long to be read at once, such as a log or an export, into parts of whole lines.
// Parts of a table of values all begin with its first line. It returns nil for shorter texts and for files that do not
// consist of lines. Part 2 of a/b.log is named a/b.log/b-part-2.log.
func textParts(m Member, limits Limits) (parts []Member) {
	if len(m.Data) <= limits.TextBytes/2 {
		return nil
	}
	head := ""
	ending := path.Ext(m.Name)
	switch Detect(m.Data, m.Name, "") {
	case Text:
	case CSV, TSV:
		first := 1
		if bytes.HasPrefix(bytes.ToLower(m.Data[:4]), []byte("sep=")) {
			first = 2
		}
		lines := bytes.SplitAfterN(m.Data[:min(len(m.Data), 16<<10)], []byte("\n"), first+1)
		if len(lines) > first {
			head = string(bytes.Join(lines[:first], nil))
		}
	case JSON:
		if ending == ".json" || m.Data[0] == '[' {
			return nil // one value
		}
	default:
		return nil
	}
	if bytes.IndexByte(m.Data[:min(len(m.Data), utf16Looks)], 0) >= 0 { // of UTF-16: a line's end is two bytes
		return nil
	}
	most := max(1, limits.TextBytes/textPartShare-len(head))
	base := strings.TrimSuffix(path.Base(m.Name), ending)
	for rest := m.Data; len(rest) > 0; {
		end, lines := 0, 0
		for end < min(len(rest), most) && lines < limits.Blocks/2 {
			next := bytes.IndexByte(rest[end:], '\n') + 1
			if next == 0 {
				next = len(rest) - end
			}
			if end > 0 && end+next > most {
				break
			}
			end += next
			lines++
		}
		data := rest[:end:end]
		if len(parts) > 0 && head != "" {
			data = append([]byte(head), data...)
		}
		parts = append(
			parts,
			Member{Name: fmt.Sprintf("%s/%s-part-%d%s", m.Name, base, len(parts)+1, ending), Data: data},
		)
		rest = rest[end:]
	}
	return parts
}

// visitingParts returns a function that calls visit for each part of a long text (textParts), and for any other file
// once.
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
