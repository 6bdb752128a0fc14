package configs

import (
	"encoding"
	"errors"
	"fmt"
	"log/slog"
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

// Secret is a text that is never printed. It is no key of files, and no flag.
type Secret string

// String hides it.
func (s Secret) String() string { return "…" }

// GoString hides it.
func (s Secret) GoString() string { return "…" }

// LogValue hides it.
func (s Secret) LogValue() slog.Value { return slog.StringValue("…") }

// MarshalText hides it.
func (s Secret) MarshalText() ([]byte, error) { return []byte("…"), nil }

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

// parse reads text into v. Its error says what is allowed there and nothing else;
// the caller adds the place, the key and the value.
func parse(text string, v reflect.Value) error {
	switch into := v.Addr().Interface().(type) {
	case *time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return errors.New("a duration with its unit, such as 200ms, 30s or 2m")
		}
		*into = d
	case encoding.TextUnmarshaler:
		return into.UnmarshalText([]byte(text))
	case *bool:
		switch strings.ToLower(text) {
		case "true", "1":
			*into = true
		case "false", "0":
			*into = false
		default:
			return errors.New("true or false")
		}
	case *int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return errors.New("a whole number")
		}
		*into = n
	case *float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return errors.New("a number")
		}
		*into = f
	default:
		v.SetString(text)
	}
	return nil
}
