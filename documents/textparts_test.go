package documents

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
)

// TestLongTexts: a log that is longer than what is read of one file is read in parts, which together have all of
// its lines in order; the parts of a table have its header.
func TestLongTexts(t *testing.T) {
	bounds := limits()
	bounds.TextBytes = 30_000
	bounds.Blocks = 1000
	reader := NewExtractor(bounds, nil)
	var log, table bytes.Buffer
	table.WriteString("Day,Sum\n")
	for i := range 3000 {
		fmt.Fprintf(&log, "2024-03-01 10:%02d:%02d job %d failed\n", i/60%60, i%60, i)
		fmt.Fprintf(&table, "d%d,%d\n", i, i)
	}
	for name, data := range map[string][]byte{"a/b.log": log.Bytes(), "a/b.csv": table.Bytes()} {
		next := 0
		count := 0
		err := reader.Expand(t.Context(), name, data, func(m Member) error {
			count++
			if want := fmt.Sprintf("%s/b-part-%d%s", name, count, name[3:]); m.Name != want {
				t.Errorf("part %s, want %s", m.Name, want)
			}
			d, _, err := reader.Read(t.Context(), Input{Name: m.Name, Data: m.Data})
			if err != nil {
				return err
			}
			for line := range strings.SplitSeq(d.Text, "\n") {
				if strings.HasPrefix(line, "Day | Sum") || line == "" {
					continue
				}
				if !strings.HasSuffix(line, fmt.Sprintf(" job %d failed", next)) &&
					line != fmt.Sprintf("d%d | %d", next, next) {
					t.Fatalf("%s: %q is not line %d", m.Name, line, next)
				}
				next++
			}
			if name == "a/b.csv" && !strings.HasPrefix(d.Text, "Day | Sum\n") {
				t.Errorf("%s begins %.40q", m.Name, d.Text)
			}
			return nil
		})
		if err != nil || next != 3000 || count < 3 {
			t.Errorf("%s: %d lines in %d parts, %v", name, next, count, err)
		}
	}
}

// TestLongUTF16: a long text in UTF-16, with a byte order mark or without, is read in parts that have all of its lines.
func TestLongUTF16(t *testing.T) {
	bounds := limits()
	bounds.TextBytes = 30_000
	reader := NewExtractor(bounds, nil)
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "2024-03-01 10:00:00 Ċċ größer %d\r\n", i) // U+010A has the byte of a line's end
	}
	encode := func(order binary.AppendByteOrder, mark string) []byte {
		data := []byte(mark)
		for _, u := range utf16.Encode([]rune(text.String())) {
			data = order.AppendUint16(data, u)
		}
		return data
	}
	for name, data := range map[string][]byte{
		"le.log": encode(binary.LittleEndian, "\xFF\xFE"), "be.log": encode(binary.BigEndian, "\xFE\xFF"),
		"plain.log": encode(binary.LittleEndian, ""), "plain-be.log": encode(binary.BigEndian, ""),
	} {
		next, count := 0, 0
		err := reader.Expand(t.Context(), name, data, func(m Member) error {
			count++
			d, _, err := reader.Read(t.Context(), Input{Name: m.Name, Data: m.Data})
			if err != nil {
				return err
			}
			for line := range strings.SplitSeq(d.Text, "\n") {
				if line == "" {
					continue
				}
				if line != fmt.Sprintf("2024-03-01 10:00:00 Ċċ größer %d", next) {
					return fmt.Errorf("%.80q is not line %d", line, next)
				}
				next++
			}
			return nil
		})
		if err != nil || next != 3000 || count < 3 {
			t.Errorf("%s: %d lines in %d parts, %v", name, next, count, err)
		}
	}
}

// TestLongJSONList: a long list in JSON is read in parts that have each of its elements once. A long value of another
// kind is refused with the name of the setting.
func TestLongJSONList(t *testing.T) {
	bounds := limits()
	bounds.TextBytes = 30_000
	reader := NewExtractor(bounds, nil)
	var records []string
	for i := range 2000 {
		records = append(records, fmt.Sprintf(`{"id": %d, "note": "a ], [b\" {c", "of": [1, {"x": "y"}]}`, i))
	}
	list := " [\n" + strings.Join(records, ",\n") + "\n]\n"
	seen := map[string]int{}
	parts := 0
	err := reader.Expand(t.Context(), "a.json", []byte(list), func(m Member) error {
		parts++
		d, _, err := reader.Read(t.Context(), Input{Name: m.Name, Data: m.Data})
		if err != nil {
			return err
		}
		for _, b := range d.Blocks {
			seen[d.TextOf(b)]++
		}
		return nil
	})
	if err != nil || parts < 3 || len(seen) != 2000 {
		t.Errorf("%d records in %d parts, %v", len(seen), parts, err)
	}
	for i := range 2000 {
		want := fmt.Sprintf(`id: %d; note: a ], [b" {c; of: 1; of.x: y`, i)
		if seen[want] != 1 {
			t.Fatalf("%d times %q", seen[want], want)
		}
	}
	lines := strings.Repeat("[\"one line\", 2]\n", 3000)
	count := 0
	err = reader.Expand(t.Context(), "a.jsonl", []byte(lines), func(m Member) error {
		d, _, err := reader.Read(t.Context(), Input{Name: m.Name, Data: m.Data})
		if err == nil {
			count += strings.Count(d.Text, "one line")
		}
		return err
	})
	if err != nil || count != 3000 {
		t.Errorf("lists on lines of their own: %d of 3000, %v", count, err)
	}
	err = reader.Expand(t.Context(), "b.json", []byte(`{"all": `+list+`}`), func(m Member) error {
		_, _, err := reader.Read(t.Context(), Input{Name: m.Name, Data: m.Data})
		return err
	})
	if ReasonOf(err) != TooLarge || !strings.Contains(err.Error(), "documents.text_bytes") {
		t.Errorf("a long object: %v", err)
	}
}
