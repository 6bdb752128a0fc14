package main

import (
	"errors"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/documents"
	"example.org/conclave/internal/corpus"
)

// comparison says how much of a reference text was read. Words are runs of letters and digits, without regard to case
// and to forms that look alike (NFKC).
type comparison struct {
	MediaType      string `json:"media_type"` // of the file, or of the first document in it
	ReferenceWords int    `json:"reference_words"`
	Words          int    `json:"words"` // that were read
	// Kept is the share of the reference's words that were read, each as often as it stands there.
	Kept float64 `json:"kept"`
	// InOrder is the share of the reference's pairs of neighbouring words that were read as neighbours.
	InOrder float64 `json:"in_order"`
	// Extra is the share of the words read that the reference does not have.
	Extra float64 `json:"extra"`
	// Missing are the first of the reference's words that were not read, at most missingWords.
	Missing []string `json:"missing,omitempty"`
}

const missingWords = 20

// printComparison reads all documents of source and prints how their text compares with that of a file. It fails if the
// file or a document of the stream cannot be read, and prints nothing then.
func printComparison(out io.Writer, source *documents.Stream, reference string, asJSON bool) error {
	text, err := os.ReadFile(reference)
	if err != nil {
		return err
	}
	read, mediaType, err := readTexts(source)
	if err != nil {
		return err
	}
	c := compareTexts(string(text), read)
	c.MediaType = mediaType
	return cli.Show(out, asJSON, c, func(w *cli.ErrWriter) {
		w.Printf("%s: %.1f %% of %s of the reference were read, %.1f %% of its pairs of neighbours; "+
			"%.1f %% of %s that were read are not in it\n", c.MediaType, 100*c.Kept,
			cli.Plural(int64(c.ReferenceWords), "word"), 100*c.InOrder, 100*c.Extra, cli.Plural(int64(c.Words), "word"))
		if len(c.Missing) > 0 {
			w.Printf("not read: %s\n", cli.Printable(strings.Join(c.Missing, " ")))
		}
	})
}

// readTexts returns the texts of all documents of a stream, each followed by a newline, and the media type of the first
// passage that has one; "" if none has. It fails if the stream fails or the passages of a document do not fit together
// (corpus.JoinDocument).
func readTexts(source *documents.Stream) (all, mediaType string, err error) {
	var texts strings.Builder
	var passages []corpus.Passage // of one document
	end := func() error {
		text, err := corpus.JoinDocument(passages)
		texts.WriteString(text + "\n")
		passages = passages[:0]
		return err
	}
	for {
		p, err := source.Next()
		if errors.Is(err, io.EOF) {
			err := end()
			return texts.String(), mediaType, err
		}
		if err != nil {
			return "", "", err
		}
		_, number, ok := corpus.DocumentOf(&p)
		if ok && number == 1 && len(passages) > 0 {
			if err := end(); err != nil {
				return "", "", err
			}
		}
		if mediaType == "" {
			mediaType, _ = p.Metadata[corpus.MediaTypeKey].(string)
		}
		passages = append(passages, p)
	}
}

// compareTexts returns how much of a reference's words and pairs of words the read text has. Without words in the
// reference, Kept and InOrder are 1; without words in the read text, Extra is 0.
func compareTexts(reference, read string) comparison {
	want, got := comparedWords(reference), comparedWords(read)
	there := countTexts(got)
	var missing []string
	kept := 0
	for _, word := range want {
		if there[word] > 0 {
			there[word]--
			kept++
		} else if len(missing) < missingWords {
			missing = append(missing, word)
		}
	}
	pairs := countTexts(wordPairs(got))
	inOrder := 0
	all := wordPairs(want)
	for _, pair := range all {
		if pairs[pair] > 0 {
			pairs[pair]--
			inOrder++
		}
	}
	return comparison{
		ReferenceWords: len(want), Words: len(got), Missing: missing,
		Kept: shareOf(kept, len(want)), InOrder: shareOf(inOrder, len(all)), Extra: 1 - shareOf(kept, len(got)),
	}
}

// shareOf returns part/all; 1 if all is 0.
func shareOf(part, all int) float64 {
	if all == 0 {
		return 1
	}
	return float64(part) / float64(all)
}

// comparedWords returns the words of a text in lower case. A word that is hyphenated at a line's end is one.
func comparedWords(text string) []string {
	text = strings.NewReplacer("-\n", "", "\u00ad", "", "\u2010\n", "").Replace(text)
	return strings.FieldsFunc(strings.ToLower(norm.NFKC.String(text)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// wordPairs returns the pairs of words that stand side by side, each with a space between.
func wordPairs(words []string) (pairs []string) {
	for i := 1; i < len(words); i++ {
		pairs = append(pairs, words[i-1]+" "+words[i])
	}
	return pairs
}

// countTexts returns how often each text occurs in a list.
func countTexts(texts []string) map[string]int {
	out := map[string]int{}
	for _, text := range texts {
		out[text]++
	}
	return out
}
