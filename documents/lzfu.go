package documents

import (
	"encoding/binary"
	"errors"
)

// What a text in compressed RTF may refer back to before its beginning (MS-OXRTFCP).
const rtfBefore = "{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript " +
	"\\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par " +
	"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"

var (
	errRTFPacked = errors.New("its compressed RTF is damaged")
	errRTFLong   = errors.New("its RTF is longer than documents.text_bytes allows")
)

// unpackRTF returns the RTF of a text that Outlook has compressed (LZFu) or stored; a stored one shares memory with
// packed. It fails with errRTFPacked if the text is damaged, and with errRTFLong if it says that it unpacks to more
// than `most` bytes. A text that ends early is returned as far as it goes.
func unpackRTF(packed []byte, most int) ([]byte, error) {
	const (
		headBytes  = 16
		compressed = 0x75465A4C // "LZFu"
		stored     = 0x414C454D // "MELA"
		window     = 4096       // bytes that may be referred to
	)
	if len(packed) < headBytes {
		return nil, errRTFPacked
	}
	size := int(binary.LittleEndian.Uint32(packed[4:]))
	kind := binary.LittleEndian.Uint32(packed[8:])
	in := packed[headBytes:]
	if size > most {
		return nil, errRTFLong
	}
	if kind == stored {
		return in[:min(size, len(in))], nil
	}
	if kind != compressed {
		return nil, errRTFPacked
	}
	var dictionary [window]byte
	at := copy(dictionary[:], rtfBefore)
	var out []byte
	put := func(c byte) {
		out = append(out, c)
		dictionary[at] = c
		at = (at + 1) % window
	}
	for len(in) > 0 && len(out) < size {
		control := in[0]
		in = in[1:]
		for bit := 0; bit < 8 && len(in) > 0 && len(out) < size; bit++ {
			if control&(1<<bit) == 0 {
				put(in[0])
				in = in[1:]
				continue
			}
			if len(in) < 2 {
				return nil, errRTFPacked
			}
			reference := int(in[0])<<8 | int(in[1])
			in = in[2:]
			from := reference >> 4
			if from == at { // the end
				return out, nil
			}
			for range reference&0xF + 2 {
				put(dictionary[from])
				from = (from + 1) % window
			}
		}
	}
	return out[:min(size, len(out))], nil
}
