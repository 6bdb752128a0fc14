// Command support measures how well the words of a sentence tell whether a cited passage says it, for the
// threshold generators.LeastSupport.
//
//	go run ./research/bench/support -passages FILE -questions FILE
//
// A sentence is a question with one of its answers, as a model writes them ("who planted the tree, the miller's
// wife"). It is compared with the passage that is marked for the question, which says it, and with the passage
// that shares most with the question of those that have no answer of it.
package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/generators"
)

// passage is a line of the file of passages.
type passage struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Text  string `json:"text"`
	terms []string
}

// question is a line of the file of questions.
type question struct {
	Question    string   `json:"question"`
	Answers     []string `json:"answers"`
	FreeAnswers []string `json:"free_answers"` // in words of the reader's own
	PositiveIDs []string `json:"positive_ids"`
}

// main measures by its flags which sentences count as supported, and prints a table (run).
func main() {
	passages := flag.String("passages", "shipped/demo/passages/*.jsonl", "files of passages")
	asked := flag.String("questions", "shipped/demo/questions/test.jsonl", "file of questions with answers")
	flag.Parse()
	if err := run(os.Stdout, *passages, *asked); err != nil {
		log.Fatal(err)
	}
}

// run writes a table to out with, for each threshold, the share of sentences that count as supported by the passage
// that says them and by another one about the same. pattern names the files of passages, asked the file of questions.
// It fails if a file cannot be read.
func run(out io.Writer, pattern, asked string) error {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	var corpus []passage
	for _, f := range files {
		corpus, err = readLines(f, corpus)
		if err != nil {
			return err
		}
	}
	questions, err := readLines[question](asked, nil)
	if err != nil {
		return err
	}
	places := map[string]int{}
	holding := map[string][]int{} // the passages that have a term
	for i := range corpus {
		p := &corpus[i]
		places[p.ID] = i
		p.terms = forms.Analyse(p.Title + " " + p.Text)
		slices.Sort(p.terms)
		p.terms = slices.Compact(p.terms)
		for _, t := range p.terms {
			holding[t] = append(holding[t], i)
		}
	}
	var right, wrong []generators.Sentence
	for _, q := range questions {
		answers := append(slices.Clone(q.Answers), q.FreeAnswers...)
		if len(q.PositiveIDs) == 0 || len(answers) == 0 {
			continue
		}
		marked, ok := places[q.PositiveIDs[0]]
		rival := rivalOf(q, answers, corpus, holding)
		if !ok || rival < 0 {
			continue
		}
		sentence := strings.TrimRight(strings.TrimSpace(q.Question), "?") + ", " + strings.TrimRight(answers[0], ".")
		right = append(right, citeSentence(q.Question, sentence, corpus[marked]))
		wrong = append(wrong, citeSentence(q.Question, sentence, corpus[rival]))
	}
	fmt.Fprintf(out, "%d sentences; called supported, by the least share of words (%%)\n", len(right))
	fmt.Fprintln(out, "| least share | by the passage that says it | by another about it | right of both |")
	fmt.Fprintln(out, "| ---: | ---: | ---: | ---: |")
	for least := .3; least < .95; least += .1 {
		count, not := supportedShare(right, least), supportedShare(wrong, least)
		fmt.Fprintf(out, "| %.1f | %.1f | %.1f | %.1f |\n", least, 100*count, 100*not, 50*(1+count-not))
	}
	return nil
}

// citeSentence returns the result of checking a sentence that cites a passage in the answer to a question
// (generators.Check).
func citeSentence(question, sentence string, p passage) generators.Sentence {
	found := generators.Check(question, sentence+" [1].", []generators.Passage{{Title: p.Title, Text: p.Text}})
	return found[len(found)-1]
}

// supportedShare returns the share, from 0 to 1, of sentences that their citation supports if at least this share of
// their words has to be in it; 0 if there are none.
func supportedShare(sentences []generators.Sentence, least float64) float64 {
	n := 0
	for _, s := range sentences {
		if len(s.Unfounded) == 0 && s.Support >= least-1e-9 {
			n++
		}
	}
	return float64(n) / float64(max(1, len(sentences)))
}

// rivalOf returns the index of the passage whose terms share most with a question (sum of the logarithms of their
// rarity) among those that are not marked and have no answer; -1 if there is none.
func rivalOf(q question, answers []string, corpus []passage, holding map[string][]int) int {
	scores := map[int]float64{}
	for _, t := range forms.Analyse(q.Question) {
		for _, i := range holding[t] {
			scores[i] += math.Log(float64(len(corpus)) / float64(len(holding[t])))
		}
	}
	best := -1
	for i, score := range scores {
		text := strings.ToLower(corpus[i].Text)
		if slices.Contains(q.PositiveIDs, corpus[i].ID) ||
			slices.ContainsFunc(answers, func(a string) bool { return strings.Contains(text, strings.ToLower(a)) }) {
			continue
		}
		if best < 0 || score > scores[best] || score == scores[best] && i < best {
			best = i
		}
	}
	return best
}

// readLines appends the values of a file of JSON lines to out and returns it. A file whose name ends in .gz is
// decompressed. It fails if the file is missing or has a malformed line.
func readLines[T any](path string, out []T) ([]T, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var in io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		unpacked, err := gzip.NewReader(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		in = unpacked
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, v)
	}
	return out, lines.Err()
}
