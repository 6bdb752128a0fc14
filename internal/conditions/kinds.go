package conditions

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Kind tells apart what values are compared as.
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

// String names what a field of this kind holds.
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

// NumberKey returns a number that is ordered as x is. NaN cannot be in JSON.
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

// KeyNumber undoes NumberKey.
func KeyNumber(key uint64) float64 {
	if key>>63 != 0 {
		return math.Float64frombits(key &^ (1 << 63))
	}
	return math.Float64frombits(^key)
}

// DateKey returns a number that is ordered as moments are, to a microsecond.
func DateKey(t time.Time) uint64 { return uint64(t.UnixMicro()) ^ 1<<63 }

// KeyDate undoes DateKey.
func KeyDate(key uint64) time.Time { return time.UnixMicro(int64(key ^ 1<<63)).UTC() }

// BoolKey returns 1 for true.
func BoolKey(yes bool) uint64 {
	if yes {
		return 1
	}
	return 0
}

// ParseDate reads a day ("2024-05-01") or a moment of RFC 3339. from is the first moment of what is
// named and to the first one behind it: a day's are a day apart, in UTC; a moment's a microsecond.
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

// ParseNumber reads a text that is a number as JSON has them, and nothing else: "07" and "1." are words.
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
