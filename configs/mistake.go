package configs

import (
	"fmt"
	"strconv"
	"strings"
)

// Error is one mistake in the configuration.
type Error struct {
	Source string // "conclave.yaml:12", "environment CONCLAVE_LOG_LEVEL", "flag --log-level", "default"
	Key    string // "limits.k", "experts[1].name"
	Value  string // as it was written; "" when the key itself is the mistake
	Detail string // what is wrong and what is allowed
}

func (e *Error) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("%s: %s: %s", e.Source, e.Key, e.Detail)
	}
	return fmt.Sprintf("%s: %s: %s: %s", e.Source, e.Key, quote(e.Value), e.Detail)
}

// quote keeps a mistaken value readable and on one line.
func quote(s string) string {
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:80], "") + "…"
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return strconv.Quote(s)
}

// unknown is the message about a name that is none of those allowed.
func unknown(what, name string, allowed []string) string {
	hint := ""
	if near := nearest(name, allowed); near != "" {
		hint = fmt.Sprintf(" Did you mean %q?", near)
	}
	return fmt.Sprintf("no such %s.%s Known here: %s", what, hint, strings.Join(allowed, ", "))
}

// nearest is the name that was probably meant, or "" when none is close.
func nearest(name string, names []string) string {
	best, distance := "", max(1, len(name)/3)+1
	for _, candidate := range names {
		if d := edits(strings.ToLower(name), candidate); d < distance {
			best, distance = candidate, d
		}
	}
	return best
}

// edits is the number of insertions, deletions, replacements and swaps of
// neighbours between a and b (optimal string alignment distance).
func edits(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
