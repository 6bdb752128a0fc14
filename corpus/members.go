package corpus

import (
	"encoding/json"
	"strconv"
	"unicode/utf16"
)

// eachMember calls visit for every member of a JSON object, in order, with the
// raw bytes of its value. encoding/json keeps the last of two equal keys and
// matches keys without regard to case; both would change what a file says, so
// the members are walked here. The object must be valid JSON.
func eachMember(object []byte, visit func(key string, value []byte) error) error {
	i := skipSpace(object, 0) + 1 // behind {
	for {
		i = skipSpace(object, i)
		if object[i] == '}' {
			return nil
		}
		end := skipValue(object, i)
		var key string
		if err := json.Unmarshal(object[i:end], &key); err != nil {
			return err
		}
		i = skipSpace(object, end) + 1 // behind :
		i = skipSpace(object, i)
		end = skipValue(object, i)
		if err := visit(key, object[i:end]); err != nil {
			return err
		}
		i = skipSpace(object, end)
		if object[i] == ',' {
			i++
		}
	}
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns the index behind the JSON value that begins at i.
func skipValue(b []byte, i int) int {
	depth := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // the end of the object around a number or a literal
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

// loneSurrogate finds a \u escape that is half of a pair without the other
// half; encoding/json would turn it into U+FFFD. It returns the escape, or "".
func loneSurrogate(b []byte) string {
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		r, ok := escaped(b, i)
		if !ok {
			i++ // the escaped character may be a backslash
			continue
		}
		if utf16.IsSurrogate(r) {
			low, paired := escaped(b, i+6)
			if !paired || utf16.DecodeRune(r, low) == '\ufffd' {
				return string(b[i : i+6])
			}
			i += 6
		}
		i += 5
	}
	return ""
}

// escaped decodes the escape \uXXXX at i.
func escaped(b []byte, i int) (rune, bool) {
	if i+6 > len(b) || b[i] != '\\' || b[i+1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(b[i+2:i+6]), 16, 16)
	return rune(v), err == nil
}
