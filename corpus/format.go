package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Format is a file format of passages.
type Format string

// The formats.
const (
	// Auto looks at the content: a folder is BEIR, a line that begins with {
	// is JSON Lines, a header of id, text and title is DPR's.
	Auto Format = "auto"
	// JSONL is one JSON object a line: id (or _id), title, text, tags,
	// metadata; contents (Pyserini, Anserini) in place of text. Other members
	// say nothing about a passage; Input.Unknown hears of them.
	JSONL Format = "jsonl"
	// BEIR is a folder with a corpus.jsonl of _id, title, text and metadata,
	// or that file.
	BEIR Format = "beir"
	// DPRTSV is the psgs_w100.tsv of Dense Passage Retrieval: a header, then
	// id, text, title between tabs, quoted as by Python's csv module.
	DPRTSV Format = "dpr-tsv"
)

// Formats lists what ParseFormat takes.
func Formats() []string {
	return []string{string(Auto), string(JSONL), string(BEIR), string(DPRTSV)}
}

// ParseFormat reads the name of a format; "" is Auto.
func ParseFormat(name string) (Format, error) {
	switch f := Format(name); f {
	case "":
		return Auto, nil
	case Auto, JSONL, BEIR, DPRTSV:
		return f, nil
	}
	return "", fmt.Errorf("unknown format %q: allowed are %s", name, strings.Join(Formats(), ", "))
}

// byteOrderMark begins many files that were written on Windows.
var byteOrderMark = []byte("\xef\xbb\xbf")

// ErrUnknownFormat is the error for content that tells no format.
var ErrUnknownFormat = errors.New("this is no format that is known")

// sniff finds the format from the beginning of a file. The error says what the
// content looks like instead.
func sniff(head []byte) (Format, error) {
	for _, other := range []struct{ magic, name string }{
		{"\x28\xb5\x2f\xfd", "is compressed with zstd"},
		{"BZh", "is compressed with bzip2"},
		{"\xfd7zXZ", "is compressed with xz"},
		{"PK\x03\x04", "is a ZIP archive"},
		{"PAR1", "is a Parquet file"},
		{"\xff\xfe", "is UTF-16 text"},
		{"\xfe\xff", "is UTF-16 text"},
		{"SQLite format 3", "is an SQLite database"},
	} {
		if bytes.HasPrefix(head, []byte(other.magic)) {
			return "", fmt.Errorf("this %s: convert it to JSON Lines (plain or gzip) first", other.name)
		}
	}
	head = bytes.TrimLeft(bytes.TrimPrefix(head, byteOrderMark), " \t\r\n")
	if len(head) == 0 {
		return "", fmt.Errorf("the file is empty")
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	switch {
	case head[0] == '{':
		return JSONL, nil
	case head[0] == '[':
		return "", fmt.Errorf("this is one JSON array: write one object a line instead (jq -c '.[]')")
	case bytes.IndexByte(line, '\t') >= 0:
		if _, err := parseHeader(line); err != nil {
			return "", err
		}
		return DPRTSV, nil
	}
	return "", fmt.Errorf("%w; it begins with %s", ErrUnknownFormat, excerpt(string(line)))
}
