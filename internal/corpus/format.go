package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"example.org/conclave/internal/wording"
)

// Format is a file format of passages.
type Format string

// The formats.
const (
	// Auto looks at the content: a folder is BEIR, a line that begins with {
	// is JSON Lines, a header of id, text and title between tabs is DPR's, another
	// header that names the ids and the texts is a TSV or CSV.
	Auto Format = "auto"
	// JSONL is one JSON object a line: id (or _id), title, text, tags,
	// metadata; contents (Pyserini, Anserini) in place of text. Other members
	// say nothing about a passage; Input.Unknown hears of them.
	JSONL Format = "jsonl"
	// BEIR is a folder with a corpus.jsonl of _id, title, text and metadata,
	// or that file.
	BEIR Format = "beir"
	// DPRTSV is the psgs_w100.tsv of Dense Passage Retrieval: a header, then
	// id, text, title between tabs. A row is a line. A field in quotes, in which all
	// others are doubled, is one that Python's csv module quoted; other quotes are
	// characters.
	DPRTSV Format = "dpr-tsv"
	// MSMARCO is the collection.tsv of MS MARCO: id and text between tabs, without a
	// header. A row is a line, and quotes are characters.
	MSMARCO Format = "msmarco-tsv"
	// CSV and TSV are tables with a header, of which Columns make the passages and
	// others are metadata: between commas or semicolons, or between tabs. A quoted field
	// may go on over lines.
	CSV Format = "csv"
	TSV Format = "tsv"
)

// Formats returns the names that ParseFormat accepts.
func Formats() []string {
	return []string{string(Auto), string(JSONL), string(BEIR), string(DPRTSV), string(MSMARCO), string(CSV), string(TSV)}
}

// ParseFormat returns the format with this name, Auto for "", and an error that lists the names for an unknown one.
func ParseFormat(name string) (Format, error) {
	switch f := Format(name); f {
	case "":
		return Auto, nil
	case Auto, JSONL, BEIR, DPRTSV, MSMARCO, CSV, TSV:
		return f, nil
	}
	return "", fmt.Errorf("unknown format %q: allowed are %s", name, strings.Join(Formats(), ", "))
}

// hasNamedColumns reports whether files of this format have a header, so that users may name columns (CSV and TSV).
func (f Format) hasNamedColumns() bool { return f == CSV || f == TSV }

// ErrUnknownFormat is the error for content whose format cannot be told from its beginning.
var ErrUnknownFormat = errors.New("this is no format that is known")

// refusePacked returns an error if a file begins like a known binary format, such as zstd or Parquet; nil otherwise.
func refusePacked(head []byte) error {
	for _, other := range []struct{ magic, name string }{
		{"\x28\xb5\x2f\xfd", "is compressed with zstd"},
		{"BZh", "is compressed with bzip2"},
		{"\xfd7zXZ", "is compressed with xz"},
		{"PK\x03\x04", "is a ZIP archive"},
		{"PAR1", "is a Parquet file"},
		{"SQLite format 3", "is an SQLite database"},
	} {
		if bytes.HasPrefix(head, []byte(other.magic)) {
			return fmt.Errorf("this %s: convert it to JSON Lines (plain or gzip) first", other.name)
		}
	}
	return nil
}

// detectFormat returns the format by the beginning of a file, and the byte between the fields if it is a table,
// else 0. want names columns of a table. The error says what the content looks like instead; it is ErrUnknownFormat
// if that is nothing known.
func detectFormat(head []byte, want Columns) (Format, byte, error) {
	head = bytes.TrimLeft(head, " \t\r\n")
	if len(head) == 0 {
		return "", 0, fmt.Errorf("the file is empty")
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	switch {
	case head[0] == '{':
		return JSONL, 0, nil
	case head[0] == '[':
		return "", 0, fmt.Errorf("this is one JSON array: write one object a line instead (jq -c '.[]')")
	}
	if format, comma, ok, err := tableOf(line, want); ok {
		return format, comma, err
	}
	return "", 0, fmt.Errorf("%w; it begins with %s", ErrUnknownFormat, wording.Quote(string(line)))
}
