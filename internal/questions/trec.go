package questions

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"example.org/conclave/internal/wording"
)

// readTREC reads topics (id TAB text) and their judgements, in four columns (question, anything, passage, grade).
// It returns the questions with a relevant passage and how many others were left out. It fails without a file of
// judgements.
func readTREC(source QuestionFile) ([]Question, int, error) {
	if source.Judgements == "" {
		return nil, 0, fmt.Errorf("%s: TREC topics need a file of judgements beside them", source.Path)
	}
	var topics []Question
	err := eachLine(source.Path, func(line int, text []byte) error {
		id, question, found := bytes.Cut(text, []byte{'\t'})
		if !found {
			return fileError(
				source.Path, line, "", "there is no TAB between an id and a text in %s", wording.Quote(string(text)),
			)
		}
		topics = append(
			topics,
			Question{
				ID:    string(bytes.TrimSpace(id)),
				Text:  string(bytes.TrimSpace(question)),
				Place: fmt.Sprintf("%s line %d", source.Path, line),
			},
		)
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return joinJudgements(topics, source.Path, source.Judgements)
}

// readBEIR reads a BEIR folder (queries.jsonl and qrels/SPLIT.tsv), or queries alone with a file of judgements,
// without which it fails. It returns the questions with a relevant passage and how many others were left out.
func readBEIR(source QuestionFile) ([]Question, int, error) {
	queries, judgements := source.Path, source.Judgements
	if info, err := os.Stat(source.Path); err != nil {
		return nil, 0, err
	} else if info.IsDir() {
		queries, err = oneOf(filepath.Join(source.Path, "queries.jsonl"))
		if err != nil {
			return nil, 0, err
		}
		if judgements == "" {
			judgements, err = splitOf(source)
			if err != nil {
				return nil, 0, err
			}
		}
	}
	if judgements == "" {
		return nil, 0, fmt.Errorf("%s: BEIR's queries need a file of judgements beside them", source.Path)
	}
	var topics []Question
	err := eachLine(queries, func(line int, text []byte) error {
		var query struct {
			ID   name   `json:"_id"`
			Text string `json:"text"`
		}
		if err := decodeLine(queries, line, text, &query); err != nil {
			return err
		}
		topics = append(
			topics, Question{ID: string(query.ID), Text: query.Text, Place: fmt.Sprintf("%s line %d", queries, line)},
		)
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return joinJudgements(topics, queries, judgements)
}

// oneOf returns path, or path with .gz if only that exists. It fails if neither does.
func oneOf(path string) (string, error) {
	for _, name := range []string{path, path + ".gz"} {
		if _, err := os.Stat(name); err == nil {
			return name, nil
		}
	}
	return "", fmt.Errorf("there is no %s, plain or with .gz", path)
}

// splitOf returns the file of judgements of a BEIR folder: that of source.Split, plain or with .gz, or the only
// one. It fails if there is none, or several and none is named.
func splitOf(source QuestionFile) (string, error) {
	folder := filepath.Join(source.Path, "qrels")
	if source.Split != "" {
		return oneOf(filepath.Join(folder, source.Split+".tsv"))
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	var files, splits []string
	for _, e := range entries {
		if split, _, found := strings.Cut(e.Name(), ".tsv"); found && !e.IsDir() {
			files, splits = append(files, filepath.Join(folder, e.Name())), append(splits, split)
		}
	}
	switch len(files) {
	case 0:
		return "", fmt.Errorf("%s has no *.tsv file", folder)
	case 1:
		return files[0], nil
	}
	return "", fmt.Errorf("%s has the splits %s: name one", folder, strings.Join(splits, ", "))
}

// judgement is one line of judgements; the zero value is a line without one.
type judgement struct {
	question, passage string
	grade             float64
}

// parseJudgement parses a line of judgements: TREC's four columns (question, anything, passage, grade), or BEIR's
// three with TABs between them (query-id, corpus-id, score). It returns the zero value for BEIR's first line, which
// names the columns. The error names the file and line.
func parseJudgement(path string, line int, text []byte) (judgement, error) {
	if columns := strings.Split(string(bytes.TrimRight(text, "\r")), "\t"); len(columns) == 3 {
		if line == 1 && columns[0] == "query-id" {
			return judgement{}, nil
		}
		return newJudgement(path, line, "score", columns[0], columns[1], columns[2])
	}
	columns := strings.Fields(string(text))
	if len(columns) != 4 {
		return judgement{}, fileError(
			path, line, "",
			"it has %d columns: TREC's judgements have four (question, iteration, passage and grade), and BEIR's three with TABs between them (query-id, corpus-id and score)",
			len(columns),
		)
	}
	return newJudgement(path, line, "grade", columns[0], columns[2], columns[3])
}

// newJudgement returns the judgement with these texts. A grade may be written 2 or 2.0. It fails for an empty id or
// another grade; field names the grade's column in the error.
func newJudgement(path string, line int, field, question, passage, grade string) (judgement, error) {
	question, passage = strings.TrimSpace(question), strings.TrimSpace(passage)
	if question == "" || passage == "" {
		return judgement{}, fileError(path, line, "", "the id of the question or of the passage is empty")
	}
	number, err := strconv.ParseFloat(strings.TrimSpace(grade), 64)
	if err != nil || math.IsNaN(number) || math.IsInf(number, 0) {
		return judgement{}, fileError(path, line, field, "%s is not a number", wording.Quote(grade))
	}
	return judgement{question, passage, number}, nil
}

// joinJudgements reads judgements and gives them to the questions, which it changes. It returns the questions with
// a relevant passage, in their order, and the number of those that the judgements name without one. Questions that
// the judgements do not name belong to another split and are not counted. It fails if an id is empty or occurs
// twice, or a line judges an unknown question or a passage in two ways. path is that of the questions, for errors.
func joinJudgements(topics []Question, path, judgements string) ([]Question, int, error) {
	at := make(map[string]int, len(topics))
	for i := range topics {
		q := &topics[i]
		if q.ID == "" || strings.ContainsAny(q.ID, " \t") {
			return nil, 0, fmt.Errorf("%s: the id %q is empty or has white space in it", q.Place, q.ID)
		}
		if first, twice := at[q.ID]; twice {
			return nil, 0, fmt.Errorf("%s: the id %q is that of %s already", q.Place, q.ID, topics[first].Place)
		}
		at[q.ID] = i
	}
	err := eachLine(judgements, func(line int, text []byte) error {
		j, err := parseJudgement(judgements, line, text)
		if err != nil || j.question == "" {
			return err
		}
		i, known := at[j.question]
		if !known {
			return fileError(judgements, line, "", "it judges question %q, which %s does not have", j.question, path)
		}
		q := &topics[i]
		if q.Grades == nil {
			q.Grades = map[string]float64{}
		}
		if before, twice := q.Grades[j.passage]; twice && before != j.grade {
			return fileError(
				judgements, line, "", "passage %q is judged %v for question %q, and %v before", j.passage, j.grade,
				j.question, before,
			)
		}
		q.Grades[j.passage] = j.grade
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	leftOut := 0
	var out []Question
	for _, q := range topics {
		switch {
		case q.Judgements().Relevant() == 0:
			if q.Grades != nil {
				leftOut++
			}
			continue
		case strings.TrimSpace(q.Text) == "":
			return nil, 0, fmt.Errorf("%s: %w", q.Place, errors.New("the question has no text"))
		}
		for id, grade := range q.Grades {
			if grade > 0 {
				q.PositiveIDs = append(q.PositiveIDs, id)
			}
		}
		slices.Sort(q.PositiveIDs)
		out = append(out, q)
	}
	return out, leftOut, nil
}
