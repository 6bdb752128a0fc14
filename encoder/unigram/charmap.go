package unigram

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"github.com/sugarme/tokenizer/spm"
)

// charMap is SentencePiece's map of characters: a trie of strings, whose values are
// places in a list of texts that a zero byte ends.
type charMap struct {
	trie  *spm.DoubleArray
	texts string
}

// parseMap returns the map in the bytes of a precompiled_charsmap. It fails if their lengths are impossible;
// tryASCII finds further damage. A damaged map may make replacementOf panic.
func parseMap(data []byte) (*charMap, error) {
	if len(data) < 4 {
		return nil, fmt.Errorf("%d bytes are too few", len(data))
	}
	size := binary.LittleEndian.Uint32(data)
	if size == 0 || size%4 != 0 || int64(size) > int64(len(data)-4) {
		return nil, fmt.Errorf("its trie is said to be %d bytes long in a map of %d", size, len(data))
	}
	texts, trie := spm.Parse(data)
	return &charMap{trie: spm.NewDoubleArrayFrom(trie), texts: string(texts)}, nil
}

// replacementOf returns the replacement of a string: that of the shortest prefix that the map has, as in the reference;
// false if it has none.
func (m *charMap) replacementOf(s string) (string, bool) {
	found := m.trie.CommonPrefixSearch([]byte(s))
	if len(found) == 0 {
		return "", false
	}
	text, _, _ := strings.Cut(m.texts[found[0]:], "\x00")
	return text, true
}

// largestCluster is the longest grapheme cluster, in bytes, that is looked up as a
// whole.
const largestCluster = 5

// mapCharacters returns text with the replacements of the characters that the map has. It looks up whole grapheme
// clusters first, then the characters of a cluster. Without a replacement a character stays. t.chars must be set; a
// damaged map may make it panic.
func (t *Tokenizer) mapCharacters(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	state := -1
	for text != "" {
		// An ASCII character, except \r, before another or at the end is a cluster.
		if c := text[0]; c < 0x80 && c != '\r' && (len(text) == 1 || text[1] < 0x80) {
			b.WriteString(t.ascii[c])
			text = text[1:]
			state = -1
			continue
		}
		var cluster string
		cluster, text, _, state = uniseg.FirstGraphemeClusterInString(text, state)
		if len(cluster) <= largestCluster {
			if to, ok := t.chars.replacementOf(cluster); ok {
				b.WriteString(to)
				continue
			}
		}
		for cluster != "" {
			_, width := utf8.DecodeRuneInString(cluster)
			to, ok := t.chars.replacementOf(cluster[:width])
			if !ok {
				to = cluster[:width]
			}
			b.WriteString(to)
			cluster = cluster[width:]
		}
	}
	return b.String()
}

// tryASCII fills the table of ASCII characters from the map; without a map it does nothing. It returns an error if
// that shows that the map is damaged.
func (t *Tokenizer) tryASCII() (err error) {
	if t.chars == nil {
		return nil
	}
	defer func() {
		if failure := recover(); failure != nil {
			err = fmt.Errorf("normalizer: precompiled_charsmap is damaged: %v", failure)
		}
	}()
	for c := range t.ascii {
		s := string(rune(c))
		to, ok := t.chars.replacementOf(s)
		if !ok {
			to = s
		}
		t.ascii[c] = to
	}
	return nil
}
