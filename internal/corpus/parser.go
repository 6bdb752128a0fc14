package corpus

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/plaintext"
	"example.org/conclave/internal/wording"

	"github.com/klauspost/compress/gzip"
)

// Input is a file, or another source, to read passages from, and how to read it.
type Input struct {
	Path     string // a file, a BEIR folder, or "-" for standard input
	Source   Stream // passages to read in place of those at Path; nil: Path is read
	Format   Format // "" is Auto
	IDPrefix string // put in front of every id, as "wiki/"
	// Columns names the columns of a CSV or TSV.
	Columns Columns
	// Stdin is read for the path "-".
	Stdin io.Reader
	// Unknown is called with each member of a JSON object that is not a field of a passage, and its place. If it
	// returns an error, the record is a bad one. Without it, such members are ignored.
	Unknown func(place Place, member string) error
	// Remarked is called for each row of a table with which something was done that a reader of the file may not
	// expect. last is the row's last line. It may be nil.
	Remarked func(what Remark, from Place, last int)
}

// Parser reads the passages of one Input, one after the other, in bounded
// memory. Whether the bytes are compressed with gzip is seen from the bytes,
// not from the name. A Parser is not safe for concurrent use, except Progress.
type Parser struct {
	name   string
	format Format
	prefix string
	total  int64
	source *countingReader
	lines  *lineReader
	table  *table
	place  Place
	closer io.Closer
	failed error

	unknown  func(place Place, member string) error
	others   []string // unknown members of the record that is read
	remarked func(what Remark, from Place, last int)
	columns  Columns
	packed   bool   // with gzip
	behind   []byte // the rest of a line at which two files were put together
}

// Open opens an input and reads as much as it needs to tell the format; it ignores Input.Source. It fails if the
// path, the format, the prefix of ids or the content cannot be used; the error names the file and what is allowed.
// Call Close when done. Standard input is not closed.
func Open(in Input) (*Parser, error) {
	format, err := ParseFormat(string(in.Format))
	if err != nil {
		return nil, err
	}
	if in.IDPrefix != "" {
		if err := CheckID(in.IDPrefix + "x"); err != nil {
			return nil, fmt.Errorf("id prefix %s for %s: %w", wording.Quote(in.IDPrefix), in.Path, err)
		}
	}
	r := &Parser{
		name:     in.Path,
		format:   format,
		prefix:   in.IDPrefix,
		total:    -1,
		unknown:  in.Unknown,
		remarked: in.Remarked,
		columns:  in.Columns,
	}
	if in.Path == "-" {
		r.name = "standard input"
		r.source = &countingReader{in: in.Stdin}
	} else if err := r.openFile(in.Path); err != nil {
		return nil, err
	}
	if err := r.openFormat(); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// openFile opens the file at path, or corpus.jsonl or corpus.jsonl.gz in the folder at path, which is then a BEIR data
// set. It fails for what is not a regular file.
func (r *Parser) openFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err // names the path
	}
	if info.IsDir() {
		if r.format != Auto && r.format != BEIR {
			return fmt.Errorf("%s is a folder, and format %s is a file", path, r.format)
		}
		folder := path
		path = ""
		for _, name := range []string{"corpus.jsonl", "corpus.jsonl.gz"} {
			info, err = os.Stat(filepath.Join(folder, name))
			if err == nil {
				path = filepath.Join(folder, name)
				break
			}
		}
		if path == "" {
			return fmt.Errorf(
				"%s is a folder without corpus.jsonl or corpus.jsonl.gz, so it is no BEIR data set: name a file in it",
				folder,
			)
		}
		r.format = BEIR
	}
	file, err := disk.OpenRegular(path)
	if errors.Is(err, disk.ErrNotRegular) {
		return fmt.Errorf("%w: standard input (-) is read as it comes", err)
	} else if err != nil {
		return err
	}
	r.total = info.Size()
	r.name = path
	r.closer = file
	r.source = &countingReader{in: file}
	return nil
}

// openFormat detects gzip, the encoding and, for Auto, the format, and sets the readers of lines and tables. It fails
// if the format cannot be told, the content is damaged or in a wrong encoding, or columns are named for a format
// without a header.
func (r *Parser) openFormat() error {
	in := bufio.NewReaderSize(r.source, 64<<10)
	head, err := in.Peek(2)
	if err != nil && err != io.EOF {
		return fmt.Errorf("reading %s: %w", r.name, err)
	}
	if bytes.Equal(head, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("reading %s: it begins like gzip, but: %w", r.name, err)
		}
		in = bufio.NewReaderSize(unzipped, 64<<10)
		r.packed = true
	}
	in, err = plaintext.NewReader(in)
	if err != nil {
		return fmt.Errorf("reading %s: %w", r.name, r.explainEnd(err))
	}
	head, err = in.Peek(16 << 10)
	if err != nil && err != io.EOF {
		return fmt.Errorf("reading %s: %w", r.name, r.explainEnd(err))
	}
	comma := byte(0)
	if r.format == Auto {
		err := refusePacked(head)
		if err == nil {
			r.format, comma, err = detectFormat(head, r.columns)
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", r.name, err)
		}
	}
	if !r.format.hasNamedColumns() && r.columns != (Columns{}) {
		return fmt.Errorf("reading %s: columns are named for tables (csv, tsv), and this is %s", r.name, r.format)
	}
	r.lines = newLineReader(in, MaxLineBytes)
	switch r.format {
	case DPRTSV, MSMARCO, CSV, TSV:
		r.table = newTable(r.lines, r.format, comma, r.columns)
		if r.remarked != nil {
			r.table.remark = func(what Remark, first, last int) { r.remarked(what, Place{File: r.name, Line: first}, last) }
		}
	}
	return nil
}

// Format returns the format of the input; never Auto.
func (r *Parser) Format() Format { return r.format }

// Next returns the next passage, and io.EOF after the last one. Other errors are *ReadError, with file, line, field and
// value. If the error is Recoverable, the next call goes on after the bad record; otherwise it returns the same error.
func (r *Parser) Next() (Passage, error) {
	if r.failed != nil {
		return Passage{}, r.failed
	}
	p, line, err := r.nextRecord()
	r.place = Place{File: r.name, Line: line}
	if err == nil {
		return p, nil
	}
	if err == io.EOF {
		r.failed = io.EOF
		return Passage{}, io.EOF
	}
	var bad *FieldError
	wrong := &ReadError{Place: r.place, Err: r.explainEnd(err)}
	// A bad header makes every row unreadable; a bad row does not.
	wrong.Recoverable = (errors.As(err, &bad) || errors.Is(err, errTooLong)) && (r.table == nil || r.table.ready)
	if !wrong.Recoverable {
		r.failed = wrong
	}
	return Passage{}, wrong
}

// nextRecord returns the next passage, checked and with the prefix before its id, and the line on which its record
// begins. It skips blank lines, and calls Input.Unknown. It returns io.EOF after the last one, and a *FieldError
// for a bad record.
func (r *Parser) nextRecord() (Passage, int, error) {
	if r.table != nil {
		p, line, err := r.table.nextPassage()
		if err != nil {
			return p, line, err
		}
		if p.ID != "" {
			p.ID = r.prefix + p.ID
		}
		return p, line, p.Check()
	}
	for {
		line, err := r.nextLine()
		if err != nil {
			return Passage{}, r.lines.number, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		r.others = r.others[:0]
		p, err := parseJSON(line, r.prefix, func(name string) { r.others = append(r.others, name) })
		if err == nil {
			err = r.tellUnknown()
		}
		return p, r.lines.number, err
	}
}

// nextLine returns the next line of JSON; io.EOF after the last. It cuts a line in two where one file was appended
// to another that had no end of line: an object that is followed by a byte order mark. The bytes are valid until
// the next call.
func (r *Parser) nextLine() (line []byte, err error) {
	if r.behind != nil {
		line = r.behind
		r.behind = nil
	} else {
		line, err = r.lines.nextLine()
		if err != nil {
			return nil, err
		}
	}
	for at := 0; ; {
		i := bytes.Index(line[at:], []byte("}"+plaintext.Mark))
		if i < 0 {
			return line, nil
		}
		at += i + 1
		if json.Valid(line[:at]) {
			r.behind = line[at+len(plaintext.Mark):]
			return line[:at], nil
		}
	}
}

// tellUnknown calls the input's Unknown for the unknown members of the last record, and returns its error as a
// *FieldError.
func (r *Parser) tellUnknown() error {
	if r.unknown == nil {
		return nil
	}
	for _, name := range r.others {
		if err := r.unknown(Place{File: r.name, Line: r.lines.number}, name); err != nil {
			return &FieldError{Field: wording.Shorten(name), Problem: err.Error()}
		}
	}
	return nil
}

// Place returns the file and line on which the record of the last Next begins.
func (r *Parser) Place() Place { return r.place }

// Progress returns how many bytes of the file were read, compressed ones for gzip, and how many it had when it was
// opened; -1 if that is not known, as for standard input. It may be called while Next runs.
func (r *Parser) Progress() (done, total int64) { return r.source.n.Load(), r.total }

// Close closes the file. Calling it again does nothing. It fails if closing does.
func (r *Parser) Close() error {
	if r.closer == nil {
		return nil
	}
	err := r.closer.Close()
	r.closer = nil
	return err
}

// explainEnd returns err with a hint for users that compressed data were cut off in the middle. In an error of the
// encoding it sets which file has the wrong one. Other errors are returned as they are.
func (r *Parser) explainEnd(err error) error {
	var encoding *plaintext.Error
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the compressed data end in the middle (%w): was the file copied or downloaded completely?", err)
	case errors.As(err, &encoding) && r.closer != nil:
		encoding.File, encoding.Packed = r.name, r.packed
	}
	return err
}

// countingReader counts the bytes that went through, for progress bars that
// other goroutines draw.
type countingReader struct {
	in io.Reader
	n  atomic.Int64
}

// Read reads from the reader below and counts the bytes. It returns the error of the reader below.
func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	c.n.Add(int64(n))
	return n, err
}
