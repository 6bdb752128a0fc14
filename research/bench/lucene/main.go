// Command lucene measures the word index beside Lucene on the same passages and
// questions, in turns, one thread each, and compares every hit:
//
//	go run ./research/bench/lucene -in passages.jsonl.gz,… -questions questions.jsonl.gz,…
//	go run ./research/bench/lucene -generate 100000
//
// The peer is LuceneBench.java; it needs a JDK of version 17 or newer and Maven,
// which fetches Lucene 9.12.1 from Maven Central.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/research/bench/peer"
	"example.org/conclave/research/bench/words"
)

// main compares BM25 with Lucene by its flags, prints the figures and writes them to the file -json if that is set.
func main() {
	var m measurement
	inputs := flag.String("in", "", "files or folders of passages, separated by commas")
	questions := flag.String("questions", "", "files of questions, separated by commas")
	generate := flag.Int("generate", 0, "measure this many generated passages")
	seed := flag.Uint64("seed", 1, "seed of what is generated")
	asked := flag.Int(
		"asked", 1000, "how many questions are generated; of files, at most this many spread evenly (0: all)",
	)
	vocabulary := flag.Int("vocabulary", 2_000_000, "words that generated passages are drawn from")
	flag.IntVar(&m.k, "k", 100, "hits per question")
	flag.IntVar(&m.rounds, "rounds", 7, "turns of each side")
	flag.IntVar(&m.builds, "builds", 3, "how often each side indexes the passages")
	flag.StringVar(&m.cache, "cache", "", "folder for Lucene's jars (default: the user's cache folder)")
	asJSON := flag.String("json", "", "file to write the figures to")
	flag.Parse()
	err := m.load(*inputs, *questions, *generate, *seed, *vocabulary, *asked)
	var r result
	if err == nil {
		r, err = m.compare(context.Background())
	}
	if err == nil {
		fmt.Print(r)
		err = peer.WriteJSON(*asJSON, r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Lucene benchmark:", err)
		os.Exit(1)
	}
}

// measurement is what is compared, and how.
type measurement struct {
	passages          []corpus.Passage
	questions         []string
	k, rounds, builds int
	cache             string
}

// load reads passages and questions from files, or generates them if generate is above 0. Of the questions of files
// it takes asked, evenly spread; 0 takes all. Line breaks become spaces, since the peer reads one text from each
// line; that separates the same words. It fails if neither is named, or a file cannot be read. Generated ones follow
// from the seed and the size of the vocabulary, and are asked questions.
func (m *measurement) load(inputs, questions string, generate int, seed uint64, vocabulary, asked int) (err error) {
	if generate > 0 {
		m.passages, m.questions = words.NewGenerator(seed, vocabulary).Collection(generate, asked)
	} else {
		if inputs == "" || questions == "" {
			return errors.New("name passages (-in) and questions (-questions), or -generate some")
		}
		var in []corpus.Input
		for _, path := range strings.Split(inputs, ",") {
			in = append(in, corpus.Input{Path: path, IDPrefix: filepath.Base(filepath.Dir(path)) + "/"})
		}
		m.passages, err = words.ReadPassages(in)
		if err != nil {
			return err
		}
		m.questions, err = words.ReadQuestions(strings.Split(questions, ","))
		if err != nil {
			return err
		}
		if n := len(m.questions); asked > 0 && n > asked {
			for i := range asked {
				m.questions[i] = m.questions[i*n/asked]
			}
			m.questions = m.questions[:asked]
		}
	}
	line := strings.NewReplacer("\n", " ", "\r", " ", "\u0085", " ", "\u2028", " ", "\u2029", " ")
	for i := range m.passages {
		p := &m.passages[i]
		p.Title, p.Text = line.Replace(strings.ToValidUTF8(p.Title, " ")), line.Replace(strings.ToValidUTF8(p.Text, " "))
	}
	for i, q := range m.questions {
		m.questions[i] = line.Replace(strings.ToValidUTF8(q, " "))
	}
	return nil
}
