package questions

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"example.org/conclave/internal/wording"
)

// pythonText matches a string as Python's repr writes it in a list: in single or in double quotes, on one line. (The
// Python Language Reference, 2.5, "Literals".)
const pythonText = `'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"`

var (
	pythonTexts = regexp.MustCompile(pythonText)
	pythonList  = regexp.MustCompile(`^\[\s*(?:(?:` + pythonText + `)\s*(?:,\s*(?:` + pythonText + `)\s*)*)?\]$`)
)

// parsePythonList parses a list of strings as Python prints it, such as ['a', "it's"]. It evaluates nothing, and fails
// for what Python never prints: prefixes, triple quotes, or strings side by side.
func parsePythonList(text string) ([]string, error) {
	if !pythonList.MatchString(text) {
		return nil, fmt.Errorf(
			"a list of texts as Python prints it is expected, such as ['a', \"it's\"], not %s", wording.Quote(text),
		)
	}
	out := []string{}
	for _, quoted := range pythonTexts.FindAllString(text, -1) {
		var value strings.Builder
		for rest := quoted[1 : len(quoted)-1]; rest != ""; {
			r, _, tail, err := strconv.UnquoteChar(rest, quoted[0])
			switch {
			case err == nil:
				value.WriteRune(r)
			case strings.ContainsRune(`01234567xuUN`, rune(rest[1])):
				return nil, fmt.Errorf("%s has an escape that is no character", wording.Quote(quoted))
			case rest[1] == '\'' || rest[1] == '"': // Go has none for the other quote
				tail = rest[1:]
			default: // Python leaves an escape that it does not know as it is
				value.WriteByte('\\')
				tail = rest[1:]
			}
			rest = tail
		}
		out = append(out, value.String())
	}
	return out, nil
}
