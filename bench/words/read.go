package words

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"

	"conclave/corpus"
)

// ReadPassages reads all passages of some inputs into memory.
func ReadPassages(inputs []corpus.Input) (passages []corpus.Passage, err error) {
	series, err := corpus.OpenSeries(inputs)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, series.Close()) }()
	for {
		p, err := series.Next()
		if errors.Is(err, io.EOF) {
			return passages, nil
		}
		if err != nil {
			return nil, err
		}
		passages = append(passages, p)
	}
}

// ReadQuestions reads questions, one a line: JSON objects with a field
// question. Files may be compressed with gzip.
func ReadQuestions(paths []string) (questions []string, err error) {
	for _, path := range paths {
		more, err := readQuestions(path)
		if err != nil {
			return nil, fmt.Errorf("reading questions of %s: %w", path, err)
		}
		questions = append(questions, more...)
	}
	return questions, nil
}

func readQuestions(path string) (questions []string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	buffered := bufio.NewReader(file)
	var in io.Reader = buffered
	if head, _ := buffered.Peek(2); string(head) == "\x1f\x8b" {
		if in, err = gzip.NewReader(buffered); err != nil {
			return nil, err
		}
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<24)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var line struct{ Question string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if line.Question == "" {
			return nil, fmt.Errorf("line %d has no field question", n)
		}
		questions = append(questions, line.Question)
	}
	return questions, lines.Err()
}
