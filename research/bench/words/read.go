package words

import (
	"errors"
	"io"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/questions"
)

// ReadPassages returns all passages of the inputs, in their order. If one cannot be read, it returns that error and
// no passages.
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

// ReadQuestions returns the texts of the questions in files, in their order. It stops at the first file that cannot be
// read. It returns the error of reading that file.
func ReadQuestions(paths []string) (texts []string, err error) {
	for _, path := range paths {
		set, err := questions.Read(questions.QuestionFile{Path: path})
		if err != nil {
			return nil, err
		}
		for _, q := range set.Questions {
			texts = append(texts, q.Text)
		}
	}
	return texts, nil
}
