package questions

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"example.org/conclave/internal/wording"
)

// Format is a file format of questions and judgements.
type Format string

// The formats. All but a BEIR folder may be gzip-compressed, and so may its
// files.
const (
	FormatAuto  Format = "auto"  // told from the content
	FormatJSONL Format = "jsonl" // {"id","question","answers","positive_ids","grades"}
	FormatDPR   Format = "dpr"   // DPR's qas csv: question TAB list of answers as Python writes it
	FormatBEIR  Format = "beir"  // folder with queries.jsonl and qrels/*.tsv
	FormatTREC  Format = "trec"  // topics, id TAB text, with judgements in four columns
)

// Formats returns the names of the formats.
func Formats() []string {
	return []string{string(FormatAuto), string(FormatJSONL), string(FormatDPR), string(FormatBEIR), string(FormatTREC)}
}

// QuestionFile is a file or folder of questions, and how to read it.
type QuestionFile struct {
	Path       string
	Format     Format // "": FormatAuto
	Judgements string // file of relevance judgements: for TREC, and for BEIR's queries alone
	Split      string // of a BEIR folder: "test" for qrels/test.tsv; "": the only one
	// domain of all its questions; "": what the file says of each
	Domain string
}

// Set is the result of reading a QuestionFile.
type Set struct {
	Questions []Question
	Format    Format
	// LeftOut is the number of questions that were left out, since the judgements say that no passage is relevant for
	// them.
	LeftOut int
}

// Read reads questions and their judgements, in the format that source names or, with FormatAuto or "", the one
// that detectFormat finds. If source.Domain is set, all questions get it. Questions that are judged to have no
// relevant passage are left out and counted. A file without a question is an error, and so is a file of judgements
// or a split for a format that has none. Errors name the file, and where there is one the line and the field.
func Read(source QuestionFile) (Set, error) {
	format := source.Format
	if format == "" || format == FormatAuto {
		var err error
		format, err = detectFormat(source)
		if err != nil {
			return Set{}, err
		}
	}
	if source.Judgements != "" && format != FormatTREC && format != FormatBEIR {
		return Set{}, fmt.Errorf(
			"%s is read as %s, which has its judgements inside: leave %s out, or name the format", source.Path, format,
			source.Judgements,
		)
	}
	if source.Split != "" && format != FormatBEIR {
		return Set{}, fmt.Errorf(
			"%s is read as %s, which has no splits: %q belongs to BEIR folders", source.Path, format, source.Split,
		)
	}
	set := Set{Format: format}
	var err error
	switch format {
	case FormatJSONL:
		set.Questions, set.LeftOut, err = readJSONL(source.Path)
	case FormatDPR:
		set.Questions, err = readDPR(source.Path)
	case FormatBEIR:
		set.Questions, set.LeftOut, err = readBEIR(source)
	case FormatTREC:
		set.Questions, set.LeftOut, err = readTREC(source)
	default:
		err = fmt.Errorf("there is no format %q: %s are known", format, strings.Join(Formats(), ", "))
	}
	if err != nil {
		return Set{}, err
	}
	if len(set.Questions) == 0 {
		if set.LeftOut > 0 {
			return Set{}, fmt.Errorf("%s: none of its %d questions has a relevant passage", source.Path, set.LeftOut)
		}
		return Set{}, fmt.Errorf("%s holds no questions", source.Path)
	}
	if source.Domain != "" {
		for i := range set.Questions {
			set.Questions[i].Domain = source.Domain
		}
	}
	return set, nil
}

// detectFormat returns the format of a file by its first line; a folder is one of BEIR. It fails if no format fits.
func detectFormat(source QuestionFile) (Format, error) {
	info, err := os.Stat(source.Path)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return FormatBEIR, nil
	}
	in, err := openLines(source.Path)
	if err != nil {
		return "", err
	}
	defer func() { _ = in.Close() }()
	first, err := firstLine(in)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", source.Path, err)
	}
	columns := bytes.Split(first, []byte{'\t'})
	last := bytes.TrimSpace(columns[len(columns)-1])
	switch {
	case len(first) == 0:
		return "", fmt.Errorf("%s holds no questions", source.Path)
	case first[0] == '{' && source.Judgements != "":
		return FormatBEIR, nil
	case first[0] == '{':
		return FormatJSONL, nil
	case len(columns) == 2 && (bytes.HasPrefix(last, []byte("[")) || bytes.HasPrefix(last, []byte(`"[`))):
		return FormatDPR, nil
	case len(columns) == 2 && source.Judgements != "":
		return FormatTREC, nil
	case len(columns) == 2:
		return "", fmt.Errorf("%s looks like TREC topics (id TAB text): name the file of their judgements, too", source.Path)
	}
	return "", fmt.Errorf(
		"%s is none of %s: its first line is %s", source.Path, strings.Join(Formats()[1:], ", "),
		wording.Quote(string(first)),
	)
}

// firstLine returns the first line that is not blank, without white space around it; empty at the end of the file.
// It fails if the line is longer than the reader's buffer. The bytes are valid until the next read.
func firstLine(in *lineFile) ([]byte, error) {
	for {
		line, err := in.ReadSlice('\n')
		trimmed := bytes.TrimSpace(line)
		if len(trimmed) > 0 || errors.Is(err, io.EOF) {
			return trimmed, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
