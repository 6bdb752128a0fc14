package documents

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
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
