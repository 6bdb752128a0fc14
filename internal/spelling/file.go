package spelling

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"example.org/conclave/internal/disk"
)

// magic is the beginning of a Lexicon's file. It is followed, for each length from 1 letter on, by the number of words
// of that length, and for each word, in the order of Lexicon.Each, by the number of its bytes, these, and its count;
// numbers are unsigned varints. The last eight bytes are the XXH3 of everything before them.
const magic = "conclave spelling 1\n"

// AppendBinary appends the content of a Lexicon's file to b and returns the result, which ends with a checksum.
func (x *Lexicon) AppendBinary(b []byte) []byte {
	from := len(b)
	b = append(b, magic...)
	for n := 1; n <= LongestWord; n++ {
		list := &x.lengths[n]
		b = binary.AppendUvarint(b, uint64(len(list.ends)))
		for at, count := range list.counts {
			word := list.wordAt(at)
			b = binary.AppendUvarint(b, uint64(len(word)))
			b = append(b, word...)
			b = binary.AppendUvarint(b, uint64(count))
		}
	}
	return binary.LittleEndian.AppendUint64(b, xxh3.Hash(b[from:]))
}

// Write writes a Lexicon to a file, replacing what is there, without syncing it. After an error the file may be
// incomplete.
func Write(d disk.Disk, path string, x *Lexicon) error { return d.WriteFile(path, x.AppendBinary(nil)) }

// Read reads a Lexicon from a file. It fails if the file is missing or damaged.
func Read(d disk.Disk, path string) (*Lexicon, error) {
	m, err := d.Map(path)
	if err != nil {
		return nil, err
	}
	x, err := Parse(m.Data)
	if err != nil {
		err = fmt.Errorf(
			"spelling file %q is damaged: %w (restore the file from a snapshot, or index the passages again)", path,
			err,
		)
	}
	return x, errors.Join(err, m.Close())
}

var errCut = errors.New("it ends too early")

// Parse returns the Lexicon in bytes that AppendBinary wrote; it keeps none of them. It fails if they are damaged.
func Parse(data []byte) (*Lexicon, error) {
	if len(data) < len(magic)+8 || string(data[:len(magic)]) != magic {
		return nil, errors.New("it does not begin as one")
	}
	body, sum := data[:len(data)-8], data[len(data)-8:]
	if xxh3.Hash(body) != binary.LittleEndian.Uint64(sum) {
		return nil, errors.New("its checksum is wrong")
	}
	rest := body[len(magic):]
	x := &Lexicon{}
	number := func(most uint64) (uint64, error) {
		n, size := binary.Uvarint(rest)
		if size <= 0 || n > most {
			return 0, errCut
		}
		rest = rest[size:]
		return n, nil
	}
	for n := 1; n <= LongestWord; n++ {
		words, err := number(MostWords)
		if err != nil {
			return nil, err
		}
		list := &x.lengths[n]
		var text []byte
		for range words {
			length, err := number(uint64(len(rest)))
			if err != nil || length > uint64(len(rest)) {
				return nil, errCut
			}
			word := rest[:length]
			rest = rest[length:]
			count, err := number(math.MaxUint32)
			if err != nil {
				return nil, err
			}
			if utf8.RuneCount(word) != n {
				return nil, fmt.Errorf("the word %q is among those of %d letters", word, n)
			}
			text = append(text, word...)
			list.ends = append(list.ends, uint32(len(text)))
			list.signatures = append(list.signatures, letterSignature(string(word)))
			list.counts = append(list.counts, uint32(count))
			x.words, x.total = x.words+1, x.total+int64(count)
		}
		list.text = string(text)
	}
	if len(rest) > 0 {
		return nil, errors.New("something follows its end")
	}
	return x, nil
}
