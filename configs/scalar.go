package configs

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// ByteSize is a number of bytes, written as a plain number or with KiB, MiB or
// GiB.
type ByteSize int64

// UnmarshalText reads "65536", "64KiB" or "64 KiB".
func (b *ByteSize) UnmarshalText(text []byte) error {
	digits, unit := strings.TrimSpace(string(text)), int64(1)
	for suffix, factor := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if rest, ok := strings.CutSuffix(digits, suffix); ok {
			digits, unit = strings.TrimSpace(rest), factor
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return fmt.Errorf("a number of bytes, such as 65536, 64KiB or 1MiB")
	}
	*b = ByteSize(n * unit)
	return nil
}

// MarshalText writes the largest unit that divides the number.
func (b ByteSize) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

func (b ByteSize) String() string {
	for _, unit := range []struct {
		suffix string
		size   ByteSize
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if b != 0 && b%unit.size == 0 {
			return strconv.FormatInt(int64(b/unit.size), 10) + unit.suffix
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// Instant is a day (its end, in UTC) or a moment. The zero value means never.
type Instant struct{ time.Time }

// UnmarshalText reads "2027-06-30" or "2027-06-30T12:00:00Z".
func (i *Instant) UnmarshalText(text []byte) error {
	s := string(text)
	if s == "" {
		*i = Instant{}
		return nil
	}
	if day, err := time.Parse(time.DateOnly, s); err == nil {
		*i = Instant{day.AddDate(0, 0, 1).Add(-time.Second)}
		return nil
	}
	moment, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return fmt.Errorf("a day such as 2027-06-30, or a moment such as 2027-06-30T12:00:00Z")
	}
	*i = Instant{moment}
	return nil
}

// MarshalText writes RFC 3339, or nothing for never.
func (i Instant) MarshalText() ([]byte, error) {
	if i.IsZero() {
		return nil, nil
	}
	return []byte(i.Format(time.RFC3339)), nil
}

// parseScalar reads text as a value of type t. Its error says what is allowed
// there and nothing else; the caller adds the place, the key and the value.
func parseScalar(t reflect.Type, text string) (any, error) {
	switch t {
	case reflect.TypeFor[time.Duration]():
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, fmt.Errorf("a duration with its unit, such as 200ms, 30s or 2m")
		}
		return d, nil
	case reflect.TypeFor[ByteSize]():
		var b ByteSize
		err := b.UnmarshalText([]byte(text))
		return b, err
	case reflect.TypeFor[Instant]():
		var i Instant
		err := i.UnmarshalText([]byte(text))
		return i, err
	}
	switch t.Kind() {
	case reflect.Bool:
		switch strings.ToLower(text) {
		case "true", "1":
			return true, nil
		case "false", "0":
			return false, nil
		}
		return nil, fmt.Errorf("true or false")
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("a whole number")
		}
		return n, nil
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("a number")
		}
		return f, nil
	default:
		return text, nil
	}
}
