package questions

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// readDPR reads a question file of DPR: rows with a question, a TAB, and the answers as a list of Python. Fields
// may be in double quotes, as in any csv file. A question's id is its number among the questions, from 1. It fails
// for a row with other columns, no text or no answers; the error names the line.
func readDPR(path string) (out []Question, err error) {
	in, err := openLines(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	rows := csv.NewReader(in)
	rows.Comma = '\t'
	rows.LazyQuotes = true // a question may have quotes in it
	rows.FieldsPerRecord = -1
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		var wrong *csv.ParseError
		if errors.As(err, &wrong) {
			return nil, fileError(path, wrong.Line, "", "%w", wrong.Err)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		line, _ := rows.FieldPos(0)
		if len(row) == 1 && strings.TrimSpace(row[0]) == "" {
			continue
		}
		if len(row) != 2 {
			return nil, fileError(
				path, line, "", "it has %d columns with TABs between them, not the two of question and answers",
				len(row),
			)
		}
		if !utf8.ValidString(row[0]) || !utf8.ValidString(row[1]) {
			return nil, fileError(path, line, "", "it is not valid UTF-8")
		}
		answers, err := parsePythonList(strings.TrimSpace(row[1]))
		if err != nil {
			return nil, fileError(path, line, "answers", "%w", err)
		}
		q := Question{
			ID:      fmt.Sprint(len(out) + 1),
			Text:    row[0],
			Answers: answers,
			Place:   fmt.Sprintf("%s line %d", path, line),
		}
		if strings.TrimSpace(q.Text) == "" {
			return nil, fileError(path, line, "question", "there is no text")
		}
		if len(answers) == 0 {
			return nil, fileError(path, line, "answers", "the list is empty, so nothing can be measured")
		}
		out = append(out, q)
	}
}
