// Package evaluation measures rankings: questions and judgements in, accuracy
// tables and run files out.
package evaluation

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// Question is a question with what is known about its answer.
type Question struct {
	ID          string             `json:"id"`
	Text        string             `json:"question"`
	Answers     []string           `json:"answers"`
	PositiveIDs []string           `json:"positive_ids"`
	Grades      map[string]float64 `json:"grades"`
	Domain      string             `json:"domain"`
}

// Judgements are the grades where there are any, else grade 1 for each
// positive passage.
func (q Question) Judgements() Judgements {
	if len(q.Grades) > 0 {
		return q.Grades
	}
	j := make(Judgements, len(q.PositiveIDs))
	for _, id := range q.PositiveIDs {
		j[id] = 1
	}
	return j
}

// maxQuestionLine bounds a line of a question file.
const maxQuestionLine = 4 << 20

// ReadQuestions reads questions from JSON Lines, plain or gzip-compressed. An
// id that appears twice, or a question without text, is an error that names
// the line.
func ReadQuestions(path string) ([]Question, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	in, err := maybeGzip(file)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	var out []Question
	seen := map[string]int{}
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxQuestionLine)
	for line := 1; scanner.Scan(); line++ {
		if strings.TrimSpace(scanner.Text()) == "" {
			continue
		}
		var q Question
		if err := json.Unmarshal(scanner.Bytes(), &q); err != nil {
			return nil, fmt.Errorf("%s line %d: %w", path, line, err)
		}
		if strings.TrimSpace(q.Text) == "" {
			return nil, fmt.Errorf("%s line %d: no \"question\"", path, line)
		}
		if q.ID == "" {
			q.ID = fmt.Sprint(line)
		}
		if first, twice := seen[q.ID]; twice {
			return nil, fmt.Errorf("%s line %d: the id %q is that of line %d", path, line, q.ID, first)
		}
		seen[q.ID] = line
		out = append(out, q)
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return out, nil
}

func maybeGzip(file io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(file)
	magic, err := buffered.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		return gzip.NewReader(buffered)
	}
	return buffered, nil
}
