package corpus

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"example.org/conclave/internal/testing/golden"
)

// told is what a reader said of a file.
type told struct {
	passages []Passage
	bad      []string // "line: problem"
	remarks  []string // "what first-last"
}

// skipping reads an input to its end, and returns its passages, its bad records and the remarks. The test fails at an
// error after which reading cannot go on.
func skipping(t *testing.T, in Input) (out told) {
	t.Helper()
	in.Remarked = func(what Remark, from Place, last int) {
		out.remarks = append(out.remarks, fmt.Sprintf("%s %d-%d", what, from.Line, last))
	}
	r, err := Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for {
		p, err := r.Next()
		var wrong *ReadError
		switch {
		case err == io.EOF:
			return out
		case errors.As(err, &wrong) && wrong.Recoverable:
			out.bad = append(out.bad, fmt.Sprintf("%d: %v", wrong.Place.Line, wrong.Err))
		case err != nil:
			t.Fatal(err)
		default:
			out.passages = append(out.passages, p)
		}
	}
}

// texts returns "id|text|title" of each passage.
func texts(passages []Passage) (out []string) {
	for _, p := range passages {
		out = append(out, p.ID+"|"+p.Text+"|"+p.Title)
	}
	return out
}

// TestLoneQuotes: a quote that begins a field and is not closed takes no other row with
// it, in no kind of table.
func TestLoneQuotes(t *testing.T) {
	const rows = "1\t\"Lone quote\tA\n2\tTea is green.\tTea 5\"\n3\t\"Another\" one\tB\n4\t\"A \"\"whole\"\" one\"\tC\n5\tend\t\"\n"
	want := []string{`1|"Lone quote|A`, `2|Tea is green.|Tea 5"`, `3|"Another" one|B`, `4|A "whole" one|C`, `5|end|"`}
	commas := func(s string) string { return strings.ReplaceAll(s, "\t", ",") }
	for name, c := range map[string]struct {
		in      Input
		remarks []string
	}{
		"DPR":   {Input{Stdin: strings.NewReader("id\ttext\ttitle\n" + rows)}, nil},
		"named": {Input{Stdin: strings.NewReader("id\ttext\ttitle\n" + rows), Format: TSV}, []string{"literal 2-2", "literal 4-4", "literal 6-6"}},
		"CSV":   {Input{Stdin: strings.NewReader(commas("id\ttext\ttitle\n" + rows))}, []string{"literal 2-2", "literal 4-4", "literal 6-6"}},
	} {
		c.in.Path = "-"
		got := skipping(t, c.in)
		if !reflect.DeepEqual(texts(got.passages), want) || got.bad != nil || !reflect.DeepEqual(got.remarks, c.remarks) {
			t.Errorf("%s: %q, bad %q, remarks %q", name, texts(got.passages), got.bad, got.remarks)
		}
	}
}

// TestLoneQuoteBehindLines: a row over two lines has a lone quote in a later field.
func TestLoneQuoteBehindLines(t *testing.T) {
	got := skipping(t, Input{Path: "-", Stdin: strings.NewReader("id,text,title\n1,\"a\nb\",\"lone\n2,c,\"d\" e\n")})
	if want := []string{"1|a\nb|\"lone", `2|c|"d" e`}; !reflect.DeepEqual(texts(got.passages), want) ||
		!reflect.DeepEqual(got.remarks, []string{"joined 2-3", "literal 2-3", "literal 4-4"}) {
		t.Errorf("%q, %q", texts(got.passages), got.remarks)
	}
}

// TestTwoLoneQuotes: the second seems to close the first, over the line end. Rows of a TSV
// that are whole by themselves stay rows.
func TestTwoLoneQuotes(t *testing.T) {
	got := skipping(
		t,
		Input{Path: "-", Format: TSV, Stdin: strings.NewReader("id\ttext\ttitle\n1\t\"Lone\tA\n2\tA screen of 27\"\tB\n")},
	)
	if want := []string{`1|"Lone|A`, `2|A screen of 27"|B`}; !reflect.DeepEqual(texts(got.passages), want) {
		t.Errorf("%q", texts(got.passages))
	}
}

// TestSkippedRowsAreCounted: one bad line is one bad record, whatever quotes it has.
func TestSkippedRowsAreCounted(t *testing.T) {
	var file strings.Builder
	file.WriteString("id,text,kind\n")
	good, bad := 0, 0
	for i := range 300 {
		switch i % 5 {
		case 1:
			fmt.Fprintf(&file, "%d,\"never closed\n", i)
			bad++
		case 3:
			fmt.Fprintf(&file, "%d,too,many,\"fields\"\n", i)
			bad++
		default:
			fmt.Fprintf(&file, "%d,\"fine, %d\",k\n", i, i)
			good++
		}
	}
	got := skipping(t, Input{Path: "-", Stdin: strings.NewReader(file.String())})
	if len(got.passages) != good || len(got.bad) != bad || got.remarks != nil {
		t.Fatalf("%d passages and %d bad, want %d and %d; %q", len(got.passages), len(got.bad), good, bad, got.remarks)
	}
}

// TestColumnsByName reads a table whose columns have other names and another order.
func TestColumnsByName(t *testing.T) {
	const file = "kind,body,price,sku,text,note,tags\n" +
		"tool,\"A hammer,\nheavy\",1546130668394913822,A-1,x,,\"a, b\"\n" +
		"kind,body,price,sku,text,note,tags\n" +
		"toy,Ball,0.50,A-2,,  ,\"[\"\"c,d\"\"]\"\n"
	want := []Passage{
		{
			ID:       "A-1",
			Text:     "A hammer,\nheavy",
			Tags:     []string{"a", "b"},
			Metadata: map[string]any{"kind": "tool", "price": "1546130668394913822", "text": "x"},
		},
		{ID: "A-2", Text: "Ball", Tags: []string{"c,d"}, Metadata: map[string]any{"kind": "toy", "price": "0.50"}},
	}
	semicolons := strings.NewReplacer("hammer,", "hammer,", "a, b", "a, b", "c,d", "c,d", ",", ";").Replace(file)
	for name, content := range map[string]string{"commas": file, "semicolons": semicolons} {
		got := skipping(t, Input{Path: "-", Stdin: strings.NewReader(content), Columns: Columns{ID: "sku", Text: "body"}})
		if !reflect.DeepEqual(got.passages, want) || !reflect.DeepEqual(got.remarks, []string{"joined 2-3", "header 4-4"}) ||
			got.bad != nil {
			t.Errorf("%s: %+v\n%q %q", name, got.passages, got.remarks, got.bad)
		}
	}
}

// TestTablesAgainstCSV writes random tables with encoding/csv, with line ends inside.
func TestTablesAgainstCSV(t *testing.T) {
	const seed = 5
	rng := rand.New(rand.NewPCG(seed, 4))
	for comma, letters := range map[rune]string{',': "ab\"\t\n ,;é東'", '\t': "ab\"\n ,é東'", ';': "ab\"\n ;,é東"} {
		for range 200 {
			random := func() string {
				b := []rune{'x'}
				for range rng.IntN(12) {
					b = append(b, []rune(letters)[rng.IntN(len([]rune(letters)))])
				}
				rng.Shuffle(len(b), func(i, j int) { b[i], b[j] = b[j], b[i] })
				return string(b)
			}
			var b bytes.Buffer
			w := csv.NewWriter(&b)
			w.Comma = comma
			_ = w.Write([]string{"title", "id", "text", "more"})
			var want []Passage
			joined := 0
			for i := range rng.IntN(10) {
				p := Passage{ID: fmt.Sprint(i), Text: random(), Title: random(), Metadata: map[string]any{"more": random()}}
				if strings.Contains(p.Text+p.Title+p.Metadata["more"].(string), "\n") {
					joined++
				}
				want = append(want, p)
				if err := w.Write([]string{p.Title, p.ID, p.Text, p.Metadata["more"].(string)}); err != nil {
					t.Fatal(err)
				}
			}
			w.Flush()
			content := b.String()
			got := skipping(t, Input{Path: "-", Stdin: strings.NewReader(content)})
			if !reflect.DeepEqual(got.passages, want) || len(got.remarks) != joined || got.bad != nil {
				t.Fatalf(
					"seed %d, %q: got %q\nwant %q\n%d joined, said %q, bad %q",
					seed,
					content,
					got.passages,
					want,
					joined,
					got.remarks,
					got.bad,
				)
			}
		}
	}
}

// TestEncodings reads one file as programs of Windows write it.
func TestEncodings(t *testing.T) {
	const jsonl = "{\"id\":\"1\",\"text\":\"naïve 😀\"}\r\n{\"id\":\"2\",\"text\":\"東京\"}\r\n"
	const csv = "id,text\r\n1,naïve 😀\r\n2,東京\r\n"
	in16 := func(s string, low int, mark bool) []byte {
		units := utf16Of(s)
		if mark {
			units = append([]uint16{0xfeff}, units...)
		}
		var b []byte
		for _, u := range units {
			pair := [2]byte{byte(u), byte(u >> 8)}
			b = append(b, pair[low], pair[1-low])
		}
		return b
	}
	want := []string{"1|naïve 😀|", "2|東京|"}
	const mark = "\ufeff"
	for name, c := range map[string]struct {
		content []byte
		want    []string
	}{
		"UTF-16LE":            {in16(jsonl, 0, true), want},
		"UTF-16BE":            {in16(jsonl, 1, true), want},
		"UTF-16LE, packed":    {zipped(t, in16(jsonl, 0, true)), want},
		"UTF-16LE table":      {in16(csv, 0, true), want},
		"two files":           {[]byte(mark + jsonl + mark + jsonl), append(want, want...)},
		"without a line end":  {[]byte(mark + strings.TrimSpace(jsonl) + mark + jsonl), append(want, want...)},
		"two in UTF-16":       {in16(mark+jsonl+mark+jsonl, 0, false), append(want, want...)},
		"two tables":          {[]byte(mark + csv + mark + csv), append(want, want...)},
		"tables, no line end": {[]byte(mark + strings.TrimSpace(csv) + mark + csv), append(want, want...)},
		"inside a text":       {[]byte("{\"id\":\"1\",\"text\":\"a}" + mark + "b\"}\n"), []string{"1|a}" + mark + "b|"}},
	} {
		got := skipping(t, Input{Path: "-", Stdin: bytes.NewReader(c.content)})
		if !reflect.DeepEqual(texts(got.passages), c.want) || got.bad != nil {
			t.Errorf("%s: %q, bad %q", name, texts(got.passages), got.bad)
		}
	}
	for name, content := range map[string][]byte{"half a pair": in16(mark+`{"id":"1","text":"`, 0, false),
		"half a unit": in16(jsonl, 0, true)} {
		content = append(content, 0x3d)
		if name == "half a pair" {
			content = append(content, 0xd8, 'x', 0)
		}
		if _, err := readAll(Input{Path: "-", Stdin: bytes.NewReader(content)}); err == nil ||
			!strings.Contains(err.Error(), "UTF-16 text") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// utf16Of returns the code units of a text in UTF-16.
func utf16Of(s string) (units []uint16) {
	for _, r := range s {
		if r < 0x10000 {
			units = append(units, uint16(r))
			continue
		}
		r -= 0x10000
		units = append(units, 0xd800|uint16(r>>10), 0xdc00|uint16(r&0x3ff))
	}
	return units
}

// TestTitleAlone: BEIR has passages whose text is empty.
func TestTitleAlone(t *testing.T) {
	got := skipping(
		t,
		Input{
			Path: "-",
			Stdin: strings.NewReader(
				`{"_id":"1","title":"A title","text":"","metadata":{}}` + "\n" + `{"id":"2","title":"Another"}`,
			),
		},
	)
	if want := []string{"1||A title", "2||Another"}; !reflect.DeepEqual(texts(got.passages), want) || got.bad != nil {
		t.Errorf("%q, bad %q", texts(got.passages), got.bad)
	}
}

// TestReferenceTables reads the tables that people had trouble with.
func TestReferenceTables(t *testing.T) {
	for name, want := range map[string][]string{
		"tsv-inch.tsv": {`1|A screen of 27" and a "good" stand|Screen`, "2|Tea|T"},
		"tsv-unclosed.tsv": {`1|"Unclosed quote here|A`, "2|Tea is green.|Tea", `3|"Another" one|B`,
			"4|Bread is brown.|Bread"},
		"tsv-msmarco.tsv": {"0|The presence of communication amid scientific minds.|", "1|The Manhattan project.|"},
	} {
		got := skipping(t, Input{Path: golden.Path(t, "cases/"+name)})
		if !reflect.DeepEqual(texts(got.passages), want) || got.bad != nil || got.remarks != nil {
			t.Errorf("%s: %q, bad %q, %q", name, texts(got.passages), got.bad, got.remarks)
		}
	}
	if got := skipping(t, Input{Path: golden.Path(t, "cases/beir-title-only")}); got.bad != nil || len(got.passages) == 0 {
		t.Errorf("%d passages, bad %q", len(got.passages), got.bad)
	}
}

// TestNumbersToTheDigit: a store gives back what was read.
func TestNumbersToTheDigit(t *testing.T) {
	const text = `{"id":"a","text":"x","metadata":{"big":1546130668394913822,"exact":0.1000000000000000055511151231257827,"small":1e-400}}`
	p, err := parseJSON([]byte(text), "", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	record, err := p.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	var again Passage
	if err := again.UnmarshalBinary(record); err != nil {
		t.Fatal(err)
	}
	if out, _ := json.Marshal(again); string(out) != text {
		t.Errorf("%s", out)
	}
}
