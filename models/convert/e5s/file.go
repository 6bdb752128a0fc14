// Package e5s reads a format in which multilingual-e5-small is published with its weights in
// blocks of four bits, and writes it as the folder of a checkpoint that can be imported.
//
// A file begins with the letters E5S1. Behind a version it has, little-endian, the sizes of a
// BERT model, the pieces of its tokenizer with their scores, a map of characters, and a directory
// of tensors: float32, or blocks of 32 weights of one row, each with a scale in float16 and 16
// bytes, of which the low halves are the first 16 weights and the high halves the others, plus 8.
//
// Files come from strangers: every length is checked against the file before it is used.
package e5s

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"unicode/utf8"
)

const (
	magic   = "E5S1"
	version = 1

	blockWeights = 32
	blockBytes   = 2 + blockWeights/2

	// Bounds on what a file may say, far above what the model has.
	mostPieces     = 1 << 20
	mostMapped     = 1 << 18
	mostTensors    = 1 << 12
	mostSize       = 1 << 20 // of a dimension
	mostFileBytes  = 1 << 30
	leastFileBytes = 64
)

// Model is a file that was read. Its weights are decoded by Tensor.
type Model struct {
	Dimension, Layers, Heads, Inner   int
	Vocabulary, Positions, TokenTypes int
	Epsilon                           float32
	Start, End, Padding, Unknown      int // numbers of pieces
	Pieces                            []string
	Scores                            []float32
	Characters                        map[rune]string // what becomes of a character; others stay
	data                              []byte
	tensors                           map[string]place
}

// place is where a tensor's numbers are.
type place struct {
	blocks bool // of four bits, else float32
	count  int
	begin  int
}

// Open reads the file at path whole into memory. It fails if the file is not in this format, damaged, or larger
// than a GiB.
func Open(path string) (*Model, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, mostFileBytes+1))
	if err != nil {
		return nil, err
	}
	m, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Parse reads a model from the bytes of a file, which it keeps: Tensor reads them. It fails if they are not in this
// format, of another version, damaged, or their sizes contradict each other (the Model is then returned, too).
func Parse(data []byte) (*Model, error) {
	if len(data) < leastFileBytes || string(data[:len(magic)]) != magic {
		return nil, errors.New("it does not begin with " + magic)
	}
	if len(data) > mostFileBytes {
		return nil, fmt.Errorf("it is longer than %d bytes", mostFileBytes)
	}
	r := &reader{data: data, at: len(magic)}
	if v := r.uint32(); v != version {
		return nil, fmt.Errorf("it has version %d of the format, and only %d is read", v, version)
	}
	m := &Model{data: data}
	for _, size := range []*int{
		&m.Dimension, &m.Layers, &m.Heads, &m.Inner, &m.Vocabulary, &m.Positions, &m.TokenTypes,
	} {
		*size = r.size(mostSize)
	}
	m.Epsilon = math.Float32frombits(r.uint32())
	if n := r.uint32(); n != blockWeights && r.err == nil {
		return nil, fmt.Errorf("its blocks have %d weights, and only %d are read", n, blockWeights)
	}
	m.readPieces(r)
	m.readCharacters(r)
	m.readDirectory(r)
	if r.err != nil {
		return nil, r.err
	}
	return m, m.check()
}

// readPieces reads the tokenizer's pieces with their scores and the numbers of the special ones into m. It sets
// r.err if they are damaged.
func (m *Model) readPieces(r *reader) {
	count := r.size(mostPieces)
	for _, number := range []*int{&m.Start, &m.End, &m.Padding, &m.Unknown} {
		*number = int(r.uint32())
		if r.err == nil && *number >= count {
			r.err = fmt.Errorf("a special piece has the number %d, and there are %d", *number, count)
		}
	}
	length := r.uint64()
	begins := r.bytes(4 * (uint64(count) + 1))
	scores := r.bytes(4 * uint64(count))
	text := r.bytes(length)
	if r.err != nil {
		return
	}
	m.Pieces, m.Scores = make([]string, count), make([]float32, count)
	for i := range count {
		begin, end := binary.LittleEndian.Uint32(begins[4*i:]), binary.LittleEndian.Uint32(begins[4*i+4:])
		if begin > end || uint64(end) > length {
			r.err = fmt.Errorf("piece %d stands at bytes %d to %d of %d", i, begin, end, length)
			return
		}
		m.Pieces[i] = string(text[begin:end])
		m.Scores[i] = math.Float32frombits(binary.LittleEndian.Uint32(scores[4*i:]))
		if !utf8.ValidString(m.Pieces[i]) {
			r.err = fmt.Errorf("piece %d is not in UTF-8", i)
			return
		}
	}
}

// readCharacters reads the map of characters into m. It sets r.err if it is damaged.
func (m *Model) readCharacters(r *reader) {
	count := r.size(mostMapped)
	inner := &reader{data: r.bytes(uint64(r.uint32()))}
	m.Characters = make(map[rune]string, count)
	for range count {
		from := inner.rune()
		var to []rune
		for range inner.byte() {
			to = append(to, inner.rune())
		}
		m.Characters[from] = string(to)
	}
	if r.err == nil {
		r.err = inner.err
	}
}

// readDirectory reads into m where the tensors are. It sets r.err for a tensor of an unknown type, a wrong length
// or beyond the end of the file.
func (m *Model) readDirectory(r *reader) {
	count := r.size(mostTensors)
	m.tensors = make(map[string]place, count)
	for range count {
		name := string(r.bytes(uint64(r.uint16())))
		kind := r.byte()
		numbers := uint64(r.uint32())
		begin, length := r.uint64(), r.uint64()
		want := 4 * numbers
		if kind == 1 {
			want = numbers / blockWeights * blockBytes
		}
		switch {
		case r.err != nil:
			return
		case kind > 1 || kind == 1 && numbers%blockWeights != 0 || length != want:
			r.err = fmt.Errorf("tensor %q has the type %d, %d numbers and %d bytes", name, kind, numbers, length)
			return
		case begin > uint64(len(m.data)) || length > uint64(len(m.data))-begin:
			r.err = fmt.Errorf("tensor %q ends at byte %d of %d", name, begin+length, len(m.data))
			return
		}
		m.tensors[name] = place{blocks: kind == 1, count: int(numbers), begin: int(begin)}
	}
}

// check returns an error if the dimension of the vectors is not a multiple of the number of heads, either is 0, or the
// table of vectors has fewer rows than there are pieces.
func (m *Model) check() error {
	if m.Heads == 0 || m.Dimension == 0 || m.Dimension%m.Heads != 0 || m.Vocabulary < len(m.Pieces) {
		return fmt.Errorf(
			"%d numbers in %d heads, and %d rows for %d pieces, are impossible", m.Dimension, m.Heads, m.Vocabulary,
			len(m.Pieces),
		)
	}
	return nil
}

// Tensor returns the numbers of a tensor in new memory, decoded where they are in blocks. It fails if there is none
// of the name, or it has not count numbers.
func (m *Model) Tensor(name string, count int) ([]float32, error) {
	at, ok := m.tensors[name]
	if !ok || at.count != count {
		return nil, fmt.Errorf("tensor %q of %d numbers is not there", name, count)
	}
	out := make([]float32, count)
	if !at.blocks {
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(m.data[at.begin+4*i:]))
		}
		return out, nil
	}
	for b := range count / blockWeights {
		block := m.data[at.begin+b*blockBytes:][:blockBytes]
		scale := fromHalf(binary.LittleEndian.Uint16(block))
		row := out[b*blockWeights:][:blockWeights]
		for i, two := range block[2:] {
			row[i] = scale * float32(int(two&15)-8)
			row[i+blockWeights/2] = scale * float32(int(two>>4)-8)
		}
	}
	return out, nil
}

// fromHalf returns the number whose bits in float16 these are; infinity and NaN stay so.
func fromHalf(bits uint16) float32 {
	sign := uint32(bits>>15) << 31
	exponent := int(bits >> 10 & 31)
	fraction := uint32(bits & 1023)
	switch {
	case exponent == 31:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	case exponent == 0:
		value := float32(fraction) / (1 << 24)
		if sign != 0 {
			value = -value
		}
		return value
	}
	return math.Float32frombits(sign | uint32(exponent+112)<<23 | fraction<<13)
}

// reader reads numbers from bytes. After the first that is not there, err is set and all are 0.
type reader struct {
	data []byte
	at   int
	err  error
}

// bytes returns the next count bytes, which share memory with the reader's; nil, with r.err set, if there are not
// so many or there was an error before.
func (r *reader) bytes(count uint64) []byte {
	if r.err == nil && count > uint64(len(r.data)-r.at) {
		r.err = fmt.Errorf("%d bytes at byte %d go beyond the end, %d", count, r.at, len(r.data))
	}
	if r.err != nil {
		return nil
	}
	out := r.data[r.at:][:count]
	r.at += int(count)
	return out
}

// byte returns the next byte; 0 if there is none.
func (r *reader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// uint16 returns the number in the next two bytes; 0 if they are not there.
func (r *reader) uint16() uint16 {
	if b := r.bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// uint32 returns the number in the next four bytes; 0 if they are not there.
func (r *reader) uint32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// uint64 returns the number in the next eight bytes; 0 if they are not there.
func (r *reader) uint64() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// rune returns the character whose number is in the next four bytes; it sets r.err for a number that is none.
func (r *reader) rune() rune {
	c := rune(r.uint32())
	if r.err == nil && !utf8.ValidRune(c) {
		r.err = fmt.Errorf("%#x is no character", c)
	}
	return c
}

// size returns the number in the next four bytes; 0, with r.err set, if it is above most or there was an error
// before.
func (r *reader) size(most int) int {
	n := r.uint32()
	if r.err == nil && int64(n) > int64(most) {
		r.err = fmt.Errorf("a size is %d, and %d is the most", n, most)
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}
