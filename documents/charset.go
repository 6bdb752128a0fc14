package documents

import (
	"bytes"
	"fmt"
	"math"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"
)

// decode returns a text as UTF-8, and adds a warning to the writer if its encoding is a guess or does not fit. Bytes
// that are no text, or not in the writer's encoding, are an *UnreadableError. If the writer has no encoding that all
// texts are read in, the encoding is chosen in this order:
//
//  1. a byte order mark, or UTF-16 recognised by its NUL bytes;
//  2. UTF-8 if all of the text is valid, whatever is declared;
//  3. the declared encoding, if it decodes every byte;
//  4. a guess by the bytes (guessEncoding).
func (w *writer) decode(data []byte, declared string) (string, error) {
	if w.encoding != "" {
		e, name := encodingNamed(w.encoding)
		if e == nil {
			return "", unreadable(Unsupported, nil, "%q is no encoding that is known", w.encoding)
		}
		return transform(data, e, name)
	}
	text, doubt, err := decode(data, declared)
	if doubt != "" {
		w.warn("%s", doubt)
	}
	return text, err
}

// decode returns the text in data as UTF-8, by the order of writer.decode: byte order mark or UTF-16, UTF-8, declared
// encoding, guess. doubt is the warning for a guess that is uncertain or does not fit all characters; otherwise "".
// Bytes that are no text in any encoding are an *UnreadableError.
func decode(data []byte, declared string) (text, doubt string, err error) {
	switch {
	case bytes.HasPrefix(data, []byte{0xEF, 0xBB, 0xBF}):
		data = data[3:]
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}), bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		text, err := transform(data, unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM), "UTF-16")
		return text, "", err
	}
	switch unmarkedUTF16(data) {
	case "UTF-16LE":
		text, err := transform(data, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "UTF-16LE")
		return text, "", err
	case "UTF-16BE":
		text, err := transform(data, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "UTF-16BE")
		return text, "", err
	}
	if utf8.Valid(data) {
		return string(data), "", nil
	}
	if e, name := encodingNamed(declared); e != nil && name != "utf-8" {
		if text, err := transform(data, e, name); err == nil && !strings.ContainsRune(text, utf8.RuneError) {
			return text, "", nil
		}
	}
	guess := guessEncoding(data)
	if guess.foreign {
		return "", "", unreadable(
			Unsupported, nil, "it is neither text in an encoding that is known nor a type of file that is read",
		)
	}
	text, err = transform(data, guess.encoding, guess.name)
	if err != nil {
		return "", "", err
	}
	if n := strings.Count(text, string(utf8.RuneError)); n > 0 {
		doubt = fmt.Sprintf(
			"%d of its characters cannot be read as %s, which it seems to be: say its encoding (documents.encoding) if that is wrong",
			n, guess.name,
		)
	} else if guess.doubtful {
		doubt = fmt.Sprintf("it was read as %s, which is a guess: say its encoding (documents.encoding) if that is wrong", guess.name)
	}
	return text, doubt, nil
}

// encodingNamed returns an encoding and its usual name, in lower case, by any name in the HTML or IANA registry.
// Both are zero if the label is "" or unknown, or if HTML forbids the encoding.
func encodingNamed(label string) (encoding.Encoding, string) {
	if label == "" {
		return nil, ""
	}
	if e, name := charset.Lookup(label); e != nil && name != "replacement" {
		return e, name
	}
	if e, err := ianaindex.IANA.Encoding(label); err == nil && e != nil {
		return e, strings.ToLower(label)
	}
	return nil, ""
}

// UnknownEncodingError is the error of an encoding whose name is in no registry.
type UnknownEncodingError struct{ Name string }

// Error quotes the unknown name and gives examples of names that are known.
func (e *UnknownEncodingError) Error() string {
	return fmt.Sprintf("there is no encoding %q: name one such as windows-1251, ISO-8859-2 or Shift_JIS", e.Name)
}

// CheckEncoding returns an *UnknownEncodingError if no encoding has this name, which may be in any case. "" is no
// error.
func CheckEncoding(name string) error {
	if e, _ := encodingNamed(name); e == nil && name != "" {
		return &UnknownEncodingError{name}
	}
	return nil
}

// guessedEncoding is the most likely encoding of a text. It is doubtful if another encoding gives other characters and
// is nearly as likely.
type guessedEncoding struct {
	encoding encoding.Encoding
	name     string
	doubtful bool
	foreign  bool // the bytes are hardly a text
}

// What a guess goes by.
const (
	guessBytes  = 32 << 10 // bytes of lines with characters that are not ASCII
	clearMargin = 0.15     // how much better than each other text a guess has to be, by character in which they differ
	noScore     = 0.0      // the score of bytes that are no text in any language
	clearScore  = 0.3      // the score of a text that most of whose characters are of the language
)

// guessEncoding returns the most likely encoding of a text that is not UTF-8, and whether the guess is doubtful or
// the bytes are hardly a text. It decodes a sample of at most guessBytes with each candidate, rates how much the
// result looks like a language written in it, and adds the guess of chardet.
func guessEncoding(data []byte) guessedEncoding {
	sample := linesBeyondASCII(data, guessBytes)
	found := chardet.Detect(sample)
	best := guessedEncoding{}
	var texts []decodedSample
	bestAt, bestScore := 0, 0.0
	for _, c := range candidateEncodings() {
		decoded, err := c.encoding.NewDecoder().Bytes(sample)
		if err != nil {
			continue
		}
		text := decodedSample{
			runes: []rune(string(decoded)),
			score: c.score(string(decoded)),
			wide:  c.common != nil,
		}
		texts = append(texts, text)
		score := text.score + c.prior
		if strings.EqualFold(found.Encoding, c.name) {
			score += 0.05 * found.Confidence
		}
		if len(texts) == 1 || score > bestScore {
			best = guessedEncoding{encoding: c.encoding, name: c.name}
			bestAt = len(texts) - 1
			bestScore = score
		}
	}
	best.doubtful = texts[bestAt].score < clearScore
	best.foreign = texts[bestAt].score < noScore && len(sample)*10 > len(data)
	for _, other := range texts {
		best.doubtful = best.doubtful || texts[bestAt].margin(other) < clearMargin
	}
	return best
}

// decodedSample is a sample of a text, decoded with one encoding, and its score.
type decodedSample struct {
	runes []rune
	score float64
	wide  bool // its characters have two bytes
}

// margin returns by how much this sample has a better score than the other, for each character in which they
// differ: negative if the other is better, and math.MaxFloat64 if the texts are equal. Both must be decoded from
// the same bytes.
func (s decodedSample) margin(other decodedSample) float64 {
	beyond, different := 0, 0
	for i, r := range s.runes {
		if r < utf8.RuneSelf {
			continue
		}
		beyond++
		if s.wide || other.wide || i >= len(other.runes) || other.runes[i] != r {
			different++
		}
	}
	if different == 0 || s.wide && other.wide && slices.Equal(s.runes, other.runes) {
		return math.MaxFloat64
	}
	return (s.score - other.score) * float64(beyond) / float64(different)
}

// linesBeyondASCII returns a copy of the lines of a text that have a byte above 127, one after the other and cut
// after `most` bytes; nil if there are none.
func linesBeyondASCII(data []byte, most int) []byte {
	var sample []byte
	for len(data) > 0 && len(sample) < most {
		end := bytes.IndexByte(data, '\n') + 1
		if end == 0 {
			end = len(data)
		}
		line := data[:end]
		data = data[end:]
		if bytes.ContainsFunc(line, func(r rune) bool { return r >= utf8.RuneSelf }) {
			sample = append(sample, line[:min(len(line), most-len(sample))]...)
		}
	}
	return sample
}

// transform returns data decoded from an encoding; name is for the error message. Bytes that the encoding does not
// have become U+FFFD. A decoder that fails gives an *UnreadableError.
func transform(data []byte, e encoding.Encoding, name string) (string, error) {
	text, err := e.NewDecoder().Bytes(data)
	if err != nil {
		return "", unreadable(Damaged, err, "it is not the %s that it seems to be", name)
	}
	return string(text), nil
}

// charsetOf returns the charset parameter of a media type, such as "utf-8"; "" if it has none or the type is
// malformed.
func charsetOf(contentType string) string {
	_, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return ""
	}
	return parameters["charset"]
}
