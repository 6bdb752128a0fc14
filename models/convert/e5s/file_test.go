package e5s

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/sugarme/tokenizer/spm"
	"golang.org/x/text/unicode/norm"
)

// written builds a file of the format, field by field.
type written struct{ bytes.Buffer }

func (w *written) put(values ...any) *written {
	for _, v := range values {
		_ = binary.Write(w, binary.LittleEndian, v)
	}
	return w
}

// small returns a model of one layer with 32 numbers in two heads: three pieces, of which one is a word, é as an accent
// of its own, and the tensors that tensors names.
func small(tensors map[string][]byte, blocks map[string]bool) []byte {
	w := new(written)
	w.WriteString("E5S1")
	w.put(uint32(1), int32(32), int32(1), int32(2), int32(64), int32(3), int32(8), int32(2), float32(1e-12), int32(32))
	pieces := []string{"<s>", "</s>", "▁a"}
	w.put(int32(len(pieces)), int32(0), int32(1), int32(0), int32(1))
	text := ""
	begins := []uint32{0}
	for _, p := range pieces {
		text += p
		begins = append(begins, uint32(len(text)))
	}
	w.put(uint64(len(text)), begins, []float32{0, 0, -1.5})
	w.WriteString(text)
	inner := new(written).put(uint32('①'), uint8(1), uint32('1'), uint32('\t'), uint8(1), uint32(' '), uint32(1), uint8(0))
	w.put(int32(3), uint32(inner.Len()))
	w.Write(inner.Bytes())
	names := []string{}
	for name := range tensors {
		names = append(names, name)
	}
	slices.Sort(names)
	w.put(int32(len(names)))
	at := w.Len()
	for _, name := range names {
		at += 2 + len(name) + 1 + 4 + 8 + 8
	}
	for _, name := range names {
		data := tensors[name]
		kind := uint8(0)
		count := uint32(len(data) / 4)
		if blocks[name] {
			kind = 1
			count = uint32(len(data) / blockBytes * blockWeights)
		}
		w.put(uint16(len(name)))
		w.WriteString(name)
		w.put(kind, count, uint64(at), uint64(len(data)))
		at += len(data)
	}
	for _, name := range names {
		w.Write(tensors[name])
	}
	return w.Bytes()
}

// TestTensors reads blocks that were worked out by hand: a scale of 0.5 with the weights 0 to 15 behind one another in
// the low halves and all 3 in the high ones.
func TestTensors(t *testing.T) {
	block := []byte{0, 0x38} // 0.5 in float16
	for i := range 16 {
		block = append(block, byte(i|3<<4))
	}
	plain := new(written).put(float32(1.25), float32(-2)).Bytes()
	m, err := Parse(small(map[string][]byte{"w": block, "b": plain}, map[string]bool{"w": true}))
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Tensor("w", 32)
	want := make([]float32, 32)
	for i := range 16 {
		want[i] = .5 * float32(i-8)
		want[16+i] = .5 * (3 - 8)
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("blocks are %v, %v", got, err)
	}
	if got, err := m.Tensor("b", 2); err != nil || !slices.Equal(got, []float32{1.25, -2}) {
		t.Errorf("float32 is %v, %v", got, err)
	}
	if _, err := m.Tensor("w", 31); err == nil {
		t.Error("another number of weights is no error")
	}
	if _, err := m.Tensor("absent", 1); err == nil {
		t.Error("a tensor that is not there is no error")
	}
	if m.Dimension != 32 || m.Inner != 64 || m.Scores[2] != -1.5 ||
		!slices.Equal(m.Pieces, []string{"<s>", "</s>", "▁a"}) {
		t.Errorf("read %+v", m)
	}
}

// TestHalves: every float16 is what its definition says, sign · 2^(e-15) · 1.fraction.
func TestHalves(t *testing.T) {
	for bits := range 1 << 16 {
		sign := float64(1 - 2*(bits>>15))
		e := bits >> 10 & 31
		fraction := float64(bits&1023) / 1024
		want := sign * math.Ldexp(1+fraction, e-15)
		switch {
		case e == 0:
			want = sign * math.Ldexp(fraction, -14)
		case e == 31 && fraction == 0:
			want = math.Inf(int(sign))
		case e == 31:
			continue // no number
		}
		if got := fromHalf(uint16(bits)); float64(got) != want {
			t.Fatalf("%#x is %v, want %v", bits, got, want)
		}
	}
}

// TestCharacters looks every character and pair up with another reader of the format: those of the model's map, and
// letters with one mark, as NFKC composes them.
func TestCharacters(t *testing.T) {
	m, err := Parse(small(nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	data, err := m.charsmap()
	if err != nil {
		t.Fatal(err)
	}
	texts, array := spm.Parse(data)
	trie := spm.NewDoubleArrayFrom(array)
	lookUp := func(s string) (string, bool) {
		found := trie.CommonPrefixSearch([]byte(s))
		if len(found) == 0 {
			return "", false
		}
		text, _, _ := bytes.Cut(texts[found[0]:], []byte{0})
		return string(text), true
	}
	for from, want := range map[string]string{
		"①": "1", "\t": " ", "\x01": "", "e\u0301": "é", "A\u030a": "Å", "а\u0306": "ӑ", "ا\u0653": "آ",
	} {
		if got, ok := lookUp(from); !ok || got != want {
			t.Errorf("%q becomes %q, %t, want %q", from, got, ok, want)
		}
	}
	for _, from := range []string{"a", "é", "②", "\u0301", "漢"} {
		if got, ok := lookUp(from); ok {
			t.Errorf("%q becomes %q, and is not in the map", from, got)
		}
	}
	pairs := 0
	for c := rune(0x80); c < 0x3000; c++ {
		apart := norm.NFD.String(string(c))
		if apart == norm.NFKD.String(string(c)) && len([]rune(apart)) == 2 && len(apart) <= 5 &&
			norm.NFC.String(apart) == string(c) {
			pairs++
			if got, ok := lookUp(apart); !ok || got != string(c) {
				t.Errorf("%q becomes %q, %t, want %q", apart, got, ok, string(c))
			}
		}
	}
	if pairs < 500 {
		t.Errorf("%d pairs were tried", pairs)
	}
}

// FuzzParse: bytes of strangers give an error or a model, in memory of their own size.
func FuzzParse(f *testing.F) {
	whole := small(map[string][]byte{"b": make([]byte, 8)}, nil)
	f.Add(whole)
	for _, n := range []int{0, 4, 40, 80, len(whole) - 9} {
		f.Add(whole[:n])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data)
		if err != nil {
			return
		}
		for name, at := range m.tensors {
			if _, err := m.Tensor(name, at.count); err != nil {
				t.Errorf("tensor %q: %v", name, err)
			}
		}
	})
}
