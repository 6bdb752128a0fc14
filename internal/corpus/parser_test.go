package corpus

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"example.org/conclave/internal/testing/golden"

	"github.com/klauspost/compress/gzip"
)

// readAll returns the passages of an input up to its end or its first error, which it also returns.
func readAll(in Input) ([]Passage, error) {
	r, err := Open(in)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	var out []Passage
	for {
		p, err := r.Next()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, p)
	}
}

// write writes a file with this name into a new temporary folder and returns its path.
func write(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// zipped returns content compressed with gzip.
func zipped(t testing.TB, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestDPR compares with what Python's csv module reads (testdata/dpr.py).
func TestDPR(t *testing.T) {
	got, err := readAll(Input{Path: "testdata/dpr.tsv"})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("testdata/dpr.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var want []Passage
	for line := range bytes.Lines(file) {
		var p Passage
		if err := json.Unmarshal(line, &p); err != nil {
			t.Fatal(err)
		}
		want = append(want, p)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %q\nwant %q", got, want)
	}
}

// TestDPRAgainstCSV writes random tables with encoding/csv.
func TestDPRAgainstCSV(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	letters := []rune("ab\"\t ,é東\\'")
	random := func() string {
		b := []rune{'x'}
		for range rng.IntN(12) {
			b = append(b, letters[rng.IntN(len(letters))])
		}
		rng.Shuffle(len(b), func(i, j int) { b[i], b[j] = b[j], b[i] })
		return string(b)
	}
	for range 200 {
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		w.Comma = '\t'
		_ = w.Write([]string{"id", "text", "title"})
		var want []Passage
		for i := range rng.IntN(10) {
			p := Passage{ID: fmt.Sprint(i), Text: random(), Title: random()}
			want = append(want, p)
			if err := w.Write([]string{p.ID, p.Text, p.Title}); err != nil {
				t.Fatal(err)
			}
		}
		w.Flush()
		got, err := readAll(Input{Path: "-", Format: DPRTSV, Stdin: &b})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %q\nwant %q", got, want)
		}
	}
}

func TestJSONLines(t *testing.T) {
	content := "\xef\xbb\xbf" + `{"id":"a","title":"T","text":"one","tags":["x","y"],"metadata":{"year":12345678901234567890,"ok":true,"by":"me","p":1.50}}` + "\r\n\n" +
		`{"_id":7,"text":"two \ud83d\ude00","title":null,"tags":null,"metadata":null,"vector":[1,{"text":"no"}]}` + "\n  \n" +
		`{"contents":"\"Title\"\nthe text\nmore","id":"c"}` + "\n" +
		`{"contents":"only text","id":"d"}` + "\n" +
		`{"contents":"first\nsecond","title":"given","id":"e"}`
	want := []Passage{
		{
			ID:    "a",
			Title: "T",
			Text:  "one",
			Tags:  []string{"x", "y"},
			Metadata: map[string]any{
				"year": json.Number("12345678901234567890"),
				"ok":   true,
				"by":   "me",
				"p":    json.Number("1.50"),
			},
		},
		{ID: "7", Text: "two 😀"},
		{ID: "c", Title: "Title", Text: "the text\nmore"},
		{ID: "d", Text: "only text"},
		{ID: "e", Title: "given", Text: "first\nsecond"},
	}
	folder := filepath.Dir(write(t, "corpus.jsonl.gz", zipped(t, []byte(content))))
	for name, in := range map[string]Input{
		"file":          {Path: write(t, "x.jsonl", []byte(content))},
		"gzip":          {Path: write(t, "x.gz", zipped(t, []byte(content)))},
		"misnamed gzip": {Path: write(t, "x.jsonl", zipped(t, []byte(content)))},
		"two gzip parts": {Path: write(t, "x.gz", append(zipped(t, []byte(content[:200])),
			zipped(t, []byte(content[200:]))...))},
		"standard input":  {Path: "-", Stdin: strings.NewReader(content)},
		"gzip on stdin":   {Path: "-", Stdin: bytes.NewReader(zipped(t, []byte(content)))},
		"folder":          {Path: folder},
		"folder, by name": {Path: folder, Format: BEIR},
	} {
		got, err := readAll(in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got  %q\nwant %q", name, got, want)
		}
	}
	got, err := readAll(Input{Path: "-", Stdin: strings.NewReader(content), IDPrefix: "w/"})
	if err != nil || got[1].ID != "w/7" {
		t.Errorf("with a prefix: %q, %v", got, err)
	}
}

// TestBadRecords feeds one bad record between good ones: the error names file,
// line, field and value, and reading goes on.
func TestBadRecords(t *testing.T) {
	good := `{"id":"%d","text":"fine"}`
	for _, c := range []struct{ line, want string }{
		{`{"id":"x"}`, `field "text" is missing`},
		{`{"id":"x","body":"b","head":"h"}`, `field "text" is missing: the object has "body", "head"`},
		{`{"id":"x","text":" \t "}`, `field "text" is missing or empty`},
		{`{"id":"x","title":" ","text":""}`, `field "text" is missing or empty`},
		{`{"id":"x","title":"t","body":"b"}`, `field "text" is missing: the object has "body"`},
		{`{"id":"x","text":"x","metadata":{"n":1e400}}`, `field "metadata.n" ("1e400") is larger than numbers of 64 bits can be`},
		{`{"id":"x","text":"x","metadata":{"n":-1` + strings.Repeat("0", 309) + `}}`, `is larger than numbers of 64 bits can be`},
		{`{"text":"x"}`, `field "id" is missing or empty`},
		{`{"id":"","text":"x"}`, `field "id" is missing or empty`},
		{`{"id":1.5,"text":"x"}`, `field "id" ("1.5") is not a string or a whole number`},
		{`{"id":["a"],"text":"x"}`, `is not a string`},
		{`{"id":" a","text":"x"}`, `field "id" (" a") begins or ends with white space`},
		{`{"id":"a\nb","text":"x"}`, `field "id" ("a\nb") has a control character`},
		{`{"id":"` + strings.Repeat("é", 300) + `","text":"x"}`, `has 600 bytes, 512 are allowed`},
		{`{"id":"a","_id":"b","text":"x"}`, `differs from the other id ("a")`},
		{`{"id":"a","id":"a","text":"x"}`, `field "id" is given twice`},
		{`{"id":"a","text":"x","text":"y"}`, `field "text" is given twice`},
		{`{"id":"a","text":"nul \u0000 here"}`, `field "text" ("nul \x00 here") has a NUL (byte 5 of the field)`},
		{"{\"id\":\"a\",\"text\":\"bad \x81 byte\"}", `is not valid JSON: invalid UTF-8 (byte 23 of the line); it is not valid UTF-8. Convert it, if you know its encoding`},
		{"{\"id\":\"a\",\"text\":\"na\xefve \x93caf\xe9\x94\"}", `is not valid JSON: invalid UTF-8 (byte 21 of the line); most such texts are Windows-1252. Convert it: iconv -f WINDOWS-1252 -t UTF-8 /`},
		{`{"id":"a","text":"half \ud83d pair"}`, `is not valid JSON: invalid surrogate pair`},
		{`{"id":"a","text":7}`, `field "text" ("7") is not a string`},
		{`{"id":"a","text":"x","tags":"t"}`, `field "tags" ("\"t\"") is not a list of strings`},
		{`{"id":"a","text":"x","tags":["a",null]}`, `field "tags[1]" is null`},
		{`{"id":"a","text":"x","tags":[""]}`, `field "tags[0]" is empty`},
		{`{"id":"a","text":"x","metadata":[1]}`, `is not a JSON object`},
		{`{"id":"a","text":"x","metadata":{"deep":{"er":1}}}`, `field "metadata.deep" ("{\"er\":1}") is not a string, a number, true or false`},
		{`{"id":"a","text":"x","metadata":{"k":1,"k":2}}`, `field "metadata.k" is given twice`},
		{`{"id":"a","text":"x"`, `is not valid JSON: unexpected EOF (byte 21 of the line)`},
		{`{"id":"a","text":"x"} {"id":"b"}`, `is not valid JSON`},
		{`["id"]`, `is not a JSON object`},
		{`"` + strings.Repeat("long ", MaxLineBytes/5) + `"`, `line is too long: 16777217 bytes, 16777216 are allowed`},
	} {
		path := write(t, "c.jsonl", fmt.Appendf(nil, good+"\n%s\n"+good+"\n", 1, c.line, 2))
		r, err := Open(Input{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		_, err = r.Next()
		var wrong *ReadError
		if !errors.As(err, &wrong) || !wrong.Recoverable || wrong.Place != (Place{path, 2}) {
			t.Errorf("%.60s: error %v (%+v)", c.line, err, wrong)
		} else if !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), path+":2: ") ||
			len(err.Error()) > 400 {
			t.Errorf("%.60s: got  %v\nwant … %s", c.line, err, c.want)
		}
		if p, err := r.Next(); err != nil || p.ID != "2" || r.Place().Line != 3 {
			t.Errorf("%.60s: behind it came %v, %v at %v", c.line, p, err, r.Place())
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("%.60s: the end is %v", c.line, err)
		}
		_ = r.Close()
	}
}

func TestBadTables(t *testing.T) {
	for _, c := range []struct{ content, want string }{
		{"id\ttext\ttitle\n1\ta\tb\n2\tonly\n", `:3: "2\tonly" has 2 fields, the header has 3`},
		{"id\ttext\ttitle\n1\ta\tb\tc\n", `:2: "1\ta\tb\tc" has 4 fields`},
		{"id\ttext\ttitle\n1\t\"on\ntwo lines\"\tb\n", `:2: "1\t\"on" has 2 fields, the header has 3 (rows of DPR's format do not go on over lines`},
		{"id\ttext\ttitle\n1\t \t\n", `field "text" is missing or empty`},
		{"id\ttext\ttitle\n\ta\tc\n", `field "id" is missing or empty`},
		{"id\ttext\ttitle\n1\ta\xff\tc\n", `field "text" ("a\xff") is not valid UTF-8 (byte 2 of the field); most such texts are Windows-1252. Convert it: iconv -f WINDOWS-1252 -t UTF-8 /`},
		{"id,text,title\n1,\"never\nclosed,b\n", `:2: "1,\"never" has 2 fields, the header has 3, and opens a quote on line 2 that is never closed`},
		{"id,text,title\n1,\"a\"\n2,\"b\nc\" d\n", `:2: "1,\"a\"" has 2 fields, the header has 3`},
		{"id,text,title\n1,x,y\n2,\"b\nc\" d\n", `:3: "2,\"b" has 2 fields, the header has 3, and has a quoted field, and more behind its closing quote on line 4`},
		{"id,text,title\n1,\"a\nb\"\n", `:2: "1,\"a" goes on to line 3 and has 2 fields, the header has 3`},
		{"id,text,title\n1,\"" + strings.Repeat("long line\n", MaxLineBytes/10+1) + "\",c\n", `opens a quote on line 2 that is never closed`},
	} {
		_, err := readAll(Input{Path: write(t, "p.tsv", []byte(c.content))})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: got %v, want … %s", c.content, err, c.want)
		}
	}
}

// TestUnopenable has what is refused before the first passage.
func TestUnopenable(t *testing.T) {
	for name, c := range map[string]struct {
		in   Input
		want string
	}{
		"absent":           {Input{Path: "nowhere.jsonl"}, "nowhere.jsonl: no such file"},
		"unknown format":   {Input{Path: "-", Format: "xls"}, `unknown format "xls": allowed are auto, jsonl, beir, dpr-tsv, msmarco-tsv, csv, tsv`},
		"empty":            {Input{Path: write(t, "e", nil)}, "the file is empty"},
		"array":            {Input{Path: write(t, "e", []byte(`[{"id":1}]`))}, "one JSON array"},
		"zip":              {Input{Path: write(t, "e", []byte("PK\x03\x04…"))}, "is a ZIP archive"},
		"utf-16, no mark":  {Input{Path: write(t, "e", []byte("i\x00d\x00\t\x00"))}, "UTF-16 text without a byte order mark. Convert it: iconv -f UTF-16LE -t UTF-8 /"},
		"utf-32":           {Input{Path: write(t, "e", []byte("\xff\xfe\x00\x00i\x00\x00\x00"))}, "iconv -f UTF-32LE"},
		"named, no table":  {Input{Path: write(t, "e", []byte(`{"id":"1","text":"x"}`)), Columns: Columns{ID: "id"}}, "columns are named for tables"},
		"column not there": {Input{Path: write(t, "e", []byte("id,text\n1,x\n")), Columns: Columns{Text: "body"}}, `the table's columns are "id", "text": it has no column "body"`},
		"one for both":     {Input{Path: write(t, "e", []byte("id,text\n1,x\n")), Columns: Columns{Text: "id"}}, `of the ids and of the texts`},
		"prose":            {Input{Path: write(t, "e", []byte("Once upon a time\n"))}, `it begins with "Once upon a time"`},
		"other table":      {Input{Path: write(t, "e", []byte("docid\turl\n1\tx\n"))}, `the table's columns are "docid", "url": it has no column "id", "text"`},
		"half a table":     {Input{Path: write(t, "e", []byte("id\ttitle\n1\tx\n"))}, `it has no column "text"`},
		"column twice":     {Input{Path: write(t, "e", []byte("id\ttext\ttext\n1\tx\n"))}, `names column "text" twice`},
		"folder":           {Input{Path: t.TempDir()}, "is a folder without corpus.jsonl"},
		"folder as lines":  {Input{Path: t.TempDir(), Format: JSONL}, "is a folder, and format jsonl is a file"},
		"gzip in name":     {Input{Path: write(t, "e.gz", []byte("\x1f\x8bnot really"))}, "begins like gzip"},
		"prefix":           {Input{Path: "-", IDPrefix: "a\nb"}, `id prefix "a\nb"`},
		"standard input":   {Input{Path: "-", Stdin: strings.NewReader("")}, "reading standard input: the file is empty"},
		"sniffed too late": {Input{Path: write(t, "e", []byte("\n\n  \n"))}, "the file is empty"},
	} {
		_, err := readAll(c.in)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want … %s", name, err, c.want)
		}
	}
}

func TestCutGzip(t *testing.T) {
	var content []byte
	for i := range 5000 {
		content = fmt.Appendf(content, `{"id":"%d","text":"some text %d"}`+"\n", i, i*i)
	}
	packed := zipped(t, content)
	path := write(t, "cut.jsonl.gz", packed[:len(packed)/2])
	got, err := readAll(Input{Path: path})
	var wrong *ReadError
	if !errors.As(err, &wrong) || wrong.Recoverable || !strings.Contains(err.Error(), "downloaded completely?") {
		t.Fatalf("error %v", err)
	}
	if len(got) == 0 || wrong.Place.Line < len(got) {
		t.Fatalf("%d passages, error at line %d", len(got), wrong.Place.Line)
	}
}

func TestProgressCountsCompressedBytes(t *testing.T) {
	packed := zipped(t, []byte(strings.Repeat(" ", 1<<20)+"\n{\"id\":\"a\",\"text\":\"x\"}\n"))
	r, err := Open(Input{Path: write(t, "x.gz", packed), Format: JSONL})
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = r.Next()
	}
	if done, total := r.Progress(); err != io.EOF || done != int64(len(packed)) || total != done {
		t.Fatalf("%d of %d, want %d; %v", done, total, len(packed), err)
	}
}

func TestSeries(t *testing.T) {
	one := write(t, "one.jsonl", []byte("{\"id\":\"1\",\"text\":\"x\"}\n"))
	two := write(t, "two.tsv", []byte("id\ttext\n1\tx\n2\ty\n"))
	s, err := OpenSeries([]Input{{Path: one}, {Path: two, IDPrefix: "t/"}})
	if err != nil {
		t.Fatal(err)
	}
	var places Places
	var got []string
	for {
		p, err := s.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p.ID)
		places.Add(s.Place())
	}
	if strings.Join(got, " ") != "1 t/1 t/2" {
		t.Fatalf("ids %q", got)
	}
	for i, want := range []Place{{one, 1}, {two, 2}, {two, 3}} {
		if got := places.Of(i); got != want {
			t.Errorf("place %d is %v, want %v", i, got, want)
		}
	}
	if len(places.runs) != 2 {
		t.Errorf("%d runs for two files", len(places.runs))
	}
	if _, err := OpenSeries([]Input{{Path: "-", Stdin: strings.NewReader("{}")}, {Path: "-"}}); err == nil {
		t.Error("standard input twice was accepted")
	}
	if _, err := OpenSeries([]Input{{Path: one}, {Path: one + "x"}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an absent second file: %v", err)
	}
}

// TestReferenceData reads the reference corpora: their sizes are in their
// README.
func TestReferenceData(t *testing.T) {
	for domain, want := range map[string]int{"cacm": 3204, "scifact": 5183, "nq": 2588, "policy": 1114} {
		got, err := readAll(Input{Path: golden.Path(t, "data/"+domain+"/passages.jsonl.gz")})
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != want {
			t.Errorf("%s: %d passages, want %d", domain, len(got), want)
		}
	}
}

// FuzzReader reads any bytes in every format: no panic, only usable passages,
// and what is JSON means what encoding/json reads.
func FuzzReader(f *testing.F) {
	sample, _ := os.ReadFile("testdata/dpr.tsv")
	f.Add(sample)
	f.Add([]byte(`{"id":"a","text":"\u0041\ud83d\ude00","tags":["x"],"metadata":{"k":1e5}}`))
	f.Add([]byte("\xef\xbb\xbf{\"_id\":1,\"contents\":\"t\\nx\"}\r\n\r\n{}"))
	f.Add(zipped(f, []byte(`{"id":"a","text":"b"}`)))
	f.Add([]byte("id,text,kind\n1,\"two\nlines\",\"a\"\"b\"\n2,\"lone,x\n"))
	f.Add([]byte("\xff\xfei\x00d\x00\t\x00t\x00e\x00x\x00t\x00\n\x001\x00\t\x00x\x00"))
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, format := range []Format{Auto, JSONL, DPRTSV, MSMARCO, CSV, TSV} {
			r, err := Open(Input{Path: "-", Format: format, Stdin: bytes.NewReader(content), IDPrefix: "p"})
			if err != nil {
				continue
			}
			for {
				p, err := r.Next()
				var wrong *ReadError
				if err == io.EOF || errors.As(err, &wrong) && !wrong.Recoverable {
					break
				}
				if err != nil {
					if wrong == nil {
						t.Fatalf("an error of another kind: %v", err)
					}
					continue
				}
				if err := p.Check(); err != nil {
					t.Fatalf("an unusable passage %+v: %v", p, err)
				}
			}
		}
		var want struct{ ID, Title, Text any }
		p, err := parseJSON(content, "", func(string) {})
		if err != nil {
			return
		}
		if err := json.Unmarshal(content, &want); err != nil {
			t.Fatalf("read %+v from what is no JSON: %v", p, err)
		}
		members := map[string]any{}
		_ = json.Unmarshal(content, &members)
		if text, ok := members["text"].(string); ok && text != p.Text && text != "" {
			t.Fatalf("text %q, encoding/json has %q", p.Text, text)
		}
		if title, ok := members["title"].(string); ok && title != p.Title && title != "" {
			t.Fatalf("title %q, encoding/json has %q", p.Title, title)
		}
	})
}
