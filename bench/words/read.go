package words

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

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
// question, or plain text. Files may be compressed with gzip.
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
		text := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(text, "{") {
			var line struct{ Question string }
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			if text = line.Question; text == "" {
				return nil, fmt.Errorf("line %d has no field question", n)
			}
		}
		if text != "" {
			questions = append(questions, text)
		}
	}
	return questions, lines.Err()
}
