package conditions

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Kind is the kind of values that are compared with each other.
type Kind byte

// The kinds. A Long is a text that is too long to be compared: its field exists, and that is all.
const (
	Words   Kind = 'w'
	Numbers Kind = 'n'
	Dates   Kind = 'd'
	Bools   Kind = 'b'
	Long    Kind = 'l'
)

// Kinds returns all kinds, in the order of their bytes.
func Kinds() []Kind { return []Kind{Bools, Dates, Long, Numbers, Words} }

// String returns the plural noun for values of this kind, for messages.
func (k Kind) String() string {
	switch k {
	case Words:
		return "words"
	case Numbers:
		return "numbers"
	case Dates:
		return "dates"
	case Bools:
		return "booleans"
	}
	return "long texts"
}

// NumberKey returns an integer that is ordered as x is; -0 and 0 have the same. x must not be NaN.
func NumberKey(x float64) uint64 {
	if x == 0 {
		x = 0 // -0 is 0
	}
	b := math.Float64bits(x)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// KeyNumber returns the number whose NumberKey is key. Not every key is one of a number.
func KeyNumber(key uint64) float64 {
	if key>>63 != 0 {
		return math.Float64frombits(key &^ (1 << 63))
	}
	return math.Float64frombits(^key)
}

// DateKey returns an integer that is ordered as moments are, to a microsecond: what is finer is dropped.
func DateKey(t time.Time) uint64 { return uint64(t.UnixMicro()) ^ 1<<63 }

// KeyDate returns the moment whose DateKey is key, in UTC.
func KeyDate(key uint64) time.Time { return time.UnixMicro(int64(key ^ 1<<63)).UTC() }

// BoolKey returns 1 for true and 0 for false.
func BoolKey(yes bool) uint64 {
	if yes {
		return 1
	}
	return 0
}

// ParseDate parses a day ("2024-05-01") or a moment of RFC 3339. from is its first moment, in UTC, and to the first
// moment after it: a day later for a day, a microsecond later for a moment. ok is false for other texts.
func ParseDate(s string) (from, to time.Time, ok bool) {
	if len(s) < len(time.DateOnly) || s[4] != '-' || s[7] != '-' {
		return from, to, false
	}
	if len(s) == len(time.DateOnly) {
		t, err := time.Parse(time.DateOnly, s)
		return t, t.AddDate(0, 0, 1), err == nil
	}
	t, err := time.Parse(time.RFC3339, s)
	t = t.UTC().Truncate(time.Microsecond)
	return t, t.Add(time.Microsecond), err == nil
}

// ParseNumber parses a number as JSON writes it; it returns false for other texts, such as "07" and "1.", for texts
// of more than 32 bytes and for numbers beyond the range of float64.
func ParseNumber(s string) (float64, bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' || len(s) > 32 ||
		len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' ||
		strings.HasSuffix(s, ".") || strings.ContainsAny(s, "xX_pP") {
		return 0, false
	}
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil && !math.IsInf(x, 0) && !math.IsNaN(x)
}
