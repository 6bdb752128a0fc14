package questions

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Disjoint returns an error if a question of fitted is in measured, too, by its id (unless empty) or its text: what was
// fitted on a question cannot be measured on it. Texts are the same if their letters, marks and digits are, whatever
// the case, the punctuation and the spaces.
func Disjoint(fitted, measured []Domain) error {
	for _, f := range fitted {
		for _, m := range measured {
			if err := checkDisjoint(f, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkDisjoint returns nil if no question of measured is also in fitted, by its id or by the words of its text;
// otherwise an error with the number of such questions and an example.
func checkDisjoint(fitted, measured Domain) error {
	ids, texts := map[string]*Question{}, map[string]*Question{}
	for i := range fitted.Questions {
		q := &fitted.Questions[i]
		ids[q.ID], texts[plainWords(q.Text)] = q, q
	}
	delete(ids, "")
	delete(texts, "")
	shared, example := 0, ""
	for _, q := range measured.Questions {
		same := texts[plainWords(q.Text)]
		if same == nil {
			same = ids[q.ID]
		}
		if same == nil {
			continue
		}
		if shared++; shared == 1 {
			example = fmt.Sprintf("%q (id %q) and %q (id %q)", same.Text, same.ID, q.Text, q.ID)
		}
	}
	if shared == 0 {
		return nil
	}
	return fmt.Errorf(
		"%s and %s share %d questions by id or by text, such as %s: what is fitted on a question cannot be measured on it; take them out of one of the files",
		fitted.Path, measured.Path, shared, example,
	)
}

// plainWords returns a text in a form that is the same for texts that count as the same question: words of letters,
// marks and digits in lower case. A text without any keeps its signs.
func plainWords(text string) string {
	text = strings.ToLower(norm.NFKC.String(text))
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M, unicode.N)
	})
	if len(words) == 0 {
		return strings.TrimSpace(text)
	}
	return strings.Join(words, " ")
}
