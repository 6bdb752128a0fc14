package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds how deep JSON may be nested. The deepest request is a batch
// of searches with lists: 4.
const maxDepth = 16

// parseJSON reads one JSON text into map[string]any, []any, string,
// json.Number, bool and nil. It refuses what encoding/json repairs in silence
// and what would change a question's meaning: invalid UTF-8 and lone halves of
// surrogate pairs (both become U+FFFD there), a key written twice (the last
// one wins there), text after the end.
func parseJSON(data []byte) (any, *Problem) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, newProblem("not_json", "The body is empty; it has to be a JSON object.")
	}
	if i := invalidUTF8(data); i >= 0 {
		return nil, newProblem("invalid_utf8", fmt.Sprintf("The body has to be UTF-8; the byte 0x%02X at offset %d begins no character.", data[i], i))
	}
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, newProblem("not_json", fmt.Sprintf("The body has to be one JSON text: %s at offset %d.", syntax, syntax.Offset))
		}
		return nil, newProblem("not_json", "The body has to be one JSON text.").because(err)
	}
	if i := loneSurrogate(data); i >= 0 {
		return nil, newProblem("invalid_utf8", fmt.Sprintf("The escape %s at offset %d is half of a surrogate pair and no character.", data[i:i+6], i))
	}
	p := jsonParser{decoder: json.NewDecoder(bytes.NewReader(data))}
	p.decoder.UseNumber()
	v, err := p.value("", 0)
	if err != nil {
		var problem *Problem
		if errors.As(err, &problem) {
			return nil, problem
		}
		return nil, newProblem("not_json", "The body has to be one JSON text.").because(err)
	}
	return v, nil
}

type jsonParser struct{ decoder *json.Decoder }

func (p *jsonParser) value(pointer string, depth int) (any, error) {
	token, err := p.decoder.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	opening, composite := token.(json.Delim)
	if !composite {
		return token, nil
	}
	if depth == maxDepth {
		return nil, newProblem("too_deep", fmt.Sprintf("JSON may be nested %d deep.", maxDepth))
	}
	if opening == '[' {
		list := []any{}
		for p.decoder.More() {
			item, err := p.value(pointer+"/"+strconv.Itoa(len(list)), depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err := p.decoder.Token()
		return list, err
	}
	object := map[string]any{}
	for p.decoder.More() {
		token, err := p.decoder.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string) // a JSON object has no other keys
		at := pointer + "/" + escapePointer(name)
		if _, twice := object[name]; twice {
			return nil, newProblem("duplicate_key", fmt.Sprintf("The key %s is written twice; which of them is meant is not clear.", quoted(name)),
				ProblemField{Pointer: shorten(at), Detail: "written twice"})
		}
		if object[name], err = p.value(at, depth+1); err != nil {
			return nil, err
		}
	}
	_, err = p.decoder.Token()
	return object, err
}

// invalidUTF8 is the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		if data[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// loneSurrogate is the offset of the first \uD800…\uDFFF in valid JSON that is
// not part of a pair, or -1.
func loneSurrogate(data []byte) int {
	half := func(i int) (rune, bool) {
		if i+6 > len(data) || data[i] != '\\' || data[i+1] != 'u' {
			return 0, false
		}
		n, err := strconv.ParseUint(string(data[i+2:i+6]), 16, 32)
		return rune(n), err == nil && n >= 0xD800 && n <= 0xDFFF
	}
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		first, is := half(i)
		if !is {
			i++ // the escaped character, which may be a backslash
			continue
		}
		second, also := half(i + 6)
		if first >= 0xDC00 || !also || second < 0xDC00 {
			return i
		}
		i += 11
	}
	return -1
}

// escapePointer writes a key as one step of a JSON pointer (RFC 6901).
func escapePointer(key string) string {
	if !strings.ContainsAny(key, "~/") {
		return key
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// shown is how much of a mistaken value an error repeats.
const shown = 64

// shorten cuts long text that a caller sent, so that an error stays readable.
func shorten(s string) string {
	if len(s) <= 2*shown {
		return s
	}
	return strings.ToValidUTF8(s[:shown], "") + "…"
}

// quoted is text of the caller's inside an error: short, with controls visible.
func quoted(s string) string { return strconv.Quote(shorten(s)) }
