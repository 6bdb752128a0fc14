package naming

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is a text prepared for Find, once for all mentions. It is safe for concurrent use.
type Text struct {
	tokens  []token
	words   map[string]bool // all words and their parts between marks, folded
	joined  string          // letters and digits of all words, folded, with a blank around each word
	numbers map[string]bool // all numbers, in the notation of numbersIn
	dates   []date          // all dates
}

// NewText returns a text prepared for Find, which looks for one mention at a time. It may be empty.
func NewText(text string) *Text {
	t := &Text{tokens: tokensOf(text), words: map[string]bool{}, numbers: map[string]bool{}}
	var joined strings.Builder
	for i, x := range t.tokens {
		t.words[x.fold] = true
		for part := range strings.FieldsFuncSeq(x.fold, isMark) {
			t.words[part] = true
		}
		joined.WriteString(" " + lettersAndDigits(x.fold))
		if hasDigit(x.bare) {
			t.addNumbers(i)
		} else if value := WrittenValue(x.fold); value != "" {
			t.numbers[value] = true
		}
		if n := dateLength(t.tokens[i:]); n > 0 {
			t.dates = append(t.dates, datesAt(t.tokens[i:i+n])...)
		}
	}
	t.joined = joined.String() + " "
	return t
}

// isMark reports whether a character is neither a letter nor a digit.
func isMark(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }

// addNumbers adds to t.numbers the numbers that the word at this index has or begins. For the 8 of 8 848 these are 8
// and 8848.
func (t *Text) addNumbers(at int) {
	number := strings.TrimFunc(t.tokens[at].bare, func(r rune) bool { return !unicode.IsDigit(r) })
	for _, value := range numbersIn(number) {
		t.numbers[value] = true
	}
	for _, part := range strings.FieldsFunc(t.tokens[at].bare, func(r rune) bool { return !unicode.IsDigit(r) && r != '.' && r != ',' }) {
		for _, value := range numbersIn(strings.Trim(part, ".,")) {
			t.numbers[value] = true
		}
	}
	group := number
	for _, next := range t.tokens[at+1:] {
		if len(next.bare) != 3 || !isDigits(next.bare) || t.tokens[at].pause {
			break
		}
		group += next.bare
		for _, value := range numbersIn(group) {
			t.numbers[value] = true
		}
	}
}

// lettersAndDigits returns a word without the characters that are neither letters nor digits.
func lettersAndDigits(word string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return r
		}
		return -1
	}, word)
}

// Found is the result of Find: the words of a mention that a text lacks, and what it has instead. The zero value means
// that the text has the mention.
type Found struct {
	// Missing are the words of the mention that the text lacks in every form; empty: the text has the mention.
	Missing []string
	// Rival is a different name of the same kind that the text has instead, in the text's words; for a date it is
	// "another date". "": there is none.
	Rival string
	// Beside says that Rival and the mention share a word and differ in the word beside it, as Pierre Curie and Marie
	// Curie do.
	Beside bool
}

// Find reports whether the text has a mention, in any form that counts as the same (see the package comment): then
// Found.Missing is empty. Otherwise it returns the missing words and the rival.
func (t *Text) Find(m Mention) Found {
	if t.hasInOrder(m.Words) {
		return Found{}
	}
	switch m.Kind {
	case Date:
		return t.findDate(m)
	case Number:
		return t.findNumber(m)
	case Code:
		return t.findCode(m)
	case Quoted:
		return Found{Missing: m.Words}
	}
	return t.findName(m)
}

// findDate looks for a Date. A text without dates counts as having it; one with only other dates does not.
func (t *Text) findDate(m Mention) Found {
	for _, d := range t.dates {
		if slices.ContainsFunc(m.dates, d.sameDay) {
			return Found{}
		}
	}
	if len(t.dates) == 0 {
		return Found{} // a text that says a year, or nothing, does not contradict
	}
	return Found{Missing: m.Words, Rival: "another date"}
}

// findNumber looks for a Number in any notation. Its rival is another number after the same word, or another year.
func (t *Text) findNumber(m Mention) Found {
	for _, value := range numbersIn(m.Words[0]) {
		if t.numbers[value] {
			return Found{}
		}
	}
	found := Found{Missing: m.Words}
	for i, x := range t.tokens {
		if !hasDigit(x.bare) || hasLetter(x.bare) || i == 0 {
			continue
		}
		before := t.tokens[i-1]
		sameWord := m.Before != "" && !before.pause && sameStem(before.fold, m.Before) && len(m.Before) > 3
		bothYears := yearOnly.MatchString(x.bare) && yearOnly.MatchString(m.Words[0])
		if sameWord || bothYears {
			found.Rival = x.bare
			if sameWord {
				found.Rival = before.bare + " " + x.bare
			}
			break
		}
	}
	return found
}

// findCode looks for a Code; case and punctuation do not matter. Its rival is a code that differs in the fewest digits.
func (t *Text) findCode(m Mention) Found {
	code := lettersAndDigits(fold(m.Words[0]))
	if strings.Contains(t.joined, " "+code+" ") {
		return Found{}
	}
	// One that the text has in two words, or as a part of a longer one.
	if utf8.RuneCountInString(code) >= leastCode && strings.Contains(strings.ReplaceAll(t.joined, " ", ""), code) {
		return Found{}
	}
	found := Found{Missing: m.Words}
	least := len(code)
	for _, x := range t.tokens {
		if d := digitsApart(code, lettersAndDigits(x.fold)); d > 0 && d < least {
			least = d
			found.Rival = x.bare
		}
	}
	return found
}

// leastCode is the least length of a code or name that is also found inside a longer word.
const leastCode = 5

// digitsApart returns the number of digits in which two codes of equal length differ, such as 2 for E11 and E23. It is
// 0 if they are equal, or differ in length or in anything but digits.
func digitsApart(a, b string) (n int) {
	if len(a) != len(b) {
		return 0
	}
	for i := range len(a) {
		switch {
		case a[i] == b[i]:
		case isDigits(a[i:i+1]) && isDigits(b[i:i+1]):
			n++
		default:
			return 0
		}
	}
	return n
}

// hasInOrder reports whether the text has these words one after the other. Case, accents and punctuation do not matter.
func (t *Text) hasInOrder(words []string) bool {
	plainWords := make([]string, len(words))
	for i, word := range words {
		plainWords[i] = lettersAndDigits(fold(word))
	}
	return strings.Contains(t.joined, " "+strings.Join(plainWords, " ")+" ")
}

// findName returns what Find does, for a Name:
//   - The zero Found, if the text has all words of the name or its initials.
//   - All words as Missing, and as Rival the name that rivalOf finds, if the text has none of the words.
//   - The words that it lacks as Missing, with Rival and Beside, if it has some and another name stands in the place
//     of a missing one (substituteFor).
//   - The zero Found otherwise: some of the words and no rival count as the name.
func (t *Text) findName(m Mention) Found {
	var missing []string
	var at []int
	for i, word := range m.Words {
		if !t.hasName(word) {
			missing = append(missing, word)
			at = append(at, i)
		}
	}
	switch {
	case len(missing) == 0 || t.hasInitials(m.Words):
		return Found{}
	case len(missing) == len(m.Words):
		return Found{Missing: missing, Rival: t.rivalOf(m)}
	}
	for _, i := range at {
		if rival := t.substituteFor(m.Words, i); rival != "" {
			return Found{Missing: missing, Rival: rival, Beside: true}
		}
	}
	return Found{}
}

// hasName reports whether the text has one word of a name, or another form of it: an inflection, a part of a compound,
// or the words that an acronym stands for.
func (t *Text) hasName(word string) bool {
	if singular, ok := strings.CutSuffix(word, "s"); ok && isAcronym(singular) { // IDs
		word = singular
	}
	for part := range strings.FieldsFuncSeq(word, func(r rune) bool { return r == '-' || r == '/' || r == '–' }) {
		if part != word && utf8.RuneCountInString(part) > 1 && t.hasName(part) { // of HIV-related, HIV
			return true
		}
	}
	folded := fold(word)
	if t.words[folded] || t.words[lettersAndDigits(folded)] || isAcronym(word) && t.spellsInitials(folded) {
		return true
	}
	letters := utf8.RuneCountInString(folded)
	least := max(leastShared, (letters+1)/2)
	for other := range t.words {
		shared := sharedPrefix(folded, other)
		switch {
		case letters >= leastShared && shared >= least && shared >= utf8.RuneCountInString(other)-longestEnding:
			return true // Siberian and Siberia
		case letters >= leastCode && strings.Contains(other, folded): // paypal.com, Apfelbaum
			return true
		}
	}
	return false
}

const (
	leastShared   = 4 // least letters that two forms of a word share at their beginning, and at least half of them
	longestEnding = 5 // most letters that the other form has beyond those
)

// spellsInitials reports whether consecutive words of the text with capital letters begin with these letters, in lower
// case: who is spelt by World Health Organization. Words of up to three bytes between them are skipped.
func (t *Text) spellsInitials(letters string) bool {
	want := []rune(letters)
	for begin := range t.tokens {
		next := 0
		for _, x := range t.tokens[begin:] {
			first, _ := utf8.DecodeRuneInString(x.fold)
			if first == want[next] && isCapital(x.bare) {
				if next++; next == len(want) {
					return true
				}
				continue
			}
			if next == 0 || len(x.fold) > 3 {
				break
			}
		}
	}
	return false
}

// hasInitials reports whether the text has the initials of these words as one word, such as US for United States. It is
// false for a single word.
func (t *Text) hasInitials(words []string) bool {
	if len(words) < 2 {
		return false
	}
	var initials []rune
	for _, word := range words {
		first, _ := utf8.DecodeRuneInString(word)
		initials = append(initials, first)
	}
	for _, x := range t.tokens {
		if lettersAndDigits(x.bare) == string(initials) {
			return true
		}
	}
	return false
}

// rivalOf returns the name in the text that follows the same word as the mention does: in "at Kestrelpond" that is
// Kestrelpond, for a mention in "at Stridewell". Otherwise it returns the first name after the text's first word, or ""
// if there is none. A capital at the beginning of a sentence makes a name only of an acronym.
func (t *Text) rivalOf(m Mention) (rival string) {
	for i, x := range t.tokens {
		if !isCapital(x.bare) || x.opens && i > 0 && !isAcronym(x.bare) || hasDigit(x.bare) {
			continue
		}
		if i > 0 && m.Before != "" && t.tokens[i-1].fold == m.Before {
			return x.bare
		}
		if rival == "" && i > 0 {
			rival = x.bare
		}
	}
	return rival
}

// substituteFor returns what the text has in the place of words[lacks], a word of a name that the text does not have.
// For Marie in Marie Curie it returns Pierre Curie, if the text has another name next to Curie everywhere, and "" if
// Curie once stands there without a name. If the text has both neighbours of the word, it returns these if they stand
// side by side, otherwise "".
func (t *Text) substituteFor(words []string, lacks int) string {
	has := func(i int) bool { return i >= 0 && i < len(words) && t.words[fold(words[i])] }
	if has(lacks-1) && has(lacks+1) {
		for i := 1; i < len(t.tokens); i++ {
			if t.tokens[i-1].fold == fold(words[lacks-1]) && t.tokens[i].fold == fold(words[lacks+1]) {
				return t.tokens[i-1].bare + " " + t.tokens[i].bare
			}
		}
		return ""
	}
	for _, side := range []int{1, -1} {
		if !has(lacks + side) {
			continue
		}
		rival := ""
		next := fold(words[lacks+side])
		for i, x := range t.tokens {
			if x.fold != next {
				continue
			}
			beside := i - side
			if beside < 0 || beside >= len(t.tokens) || !isCapital(t.tokens[beside].bare) ||
				side == 1 && t.tokens[beside].pause || side == -1 && x.pause {
				return ""
			}
			rival = t.tokens[beside].bare + " " + x.bare
			if side == -1 {
				rival = x.bare + " " + t.tokens[beside].bare
			}
		}
		if rival != "" {
			return rival
		}
	}
	return ""
}

// sameStem reports whether two folded words are equal, or share all letters but the last two, and at least leastShared.
func sameStem(a, b string) bool {
	return a == b || sharedPrefix(a, b) >= max(leastShared, max(len(a), len(b))-2)
}

// sharedPrefix returns the number of letters that two words share at their beginning.
func sharedPrefix(a, b string) (n int) {
	other := []rune(b)
	for i, r := range []rune(a) {
		if i >= len(other) || other[i] != r {
			break
		}
		n++
	}
	return n
}
