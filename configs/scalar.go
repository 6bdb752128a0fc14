package configs

import (
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// ByteSize is a number of bytes, written as a plain number or with KiB, MiB or
// GiB.
type ByteSize int64

// unit is one of those in which a ByteSize is written.
type unit struct {
	suffix string
	size   int64
}

// byteUnits returns the units of numbers of bytes, the largest first; the last has no suffix.
func byteUnits() []unit { return []unit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"", 1}} }

// UnmarshalText sets the number from a text such as "65536", "64KiB" or "64 KiB". It fails if the text is not a number
// of bytes from 0 on.
func (b *ByteSize) UnmarshalText(text []byte) error {
	for _, u := range byteUnits() {
		digits, ok := strings.CutSuffix(string(text), u.suffix)
		if n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64); ok && err == nil && n >= 0 &&
			n <= math.MaxInt64/u.size {
			*b = ByteSize(n * u.size)
			return nil
		}
	}
	return errors.New("no number of bytes")
}

// MarshalText returns the number with the largest unit that divides it.
func (b ByteSize) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// String returns the number with the largest unit that divides it: "64KiB", "1000"; "0" for 0.
func (b ByteSize) String() string {
	all := byteUnits()
	for int64(b)%all[0].size != 0 || b == 0 && len(all) > 1 {
		all = all[1:]
	}
	return strconv.FormatInt(int64(b)/all[0].size, 10) + all[0].suffix
}

// Secret is a text that is never printed. It is no key of files, and no flag.
type Secret string

// String returns "…", so that the secret is not printed.
func (s Secret) String() string { return "…" }

// GoString returns "…", so that the secret is not printed with %#v.
func (s Secret) GoString() string { return "…" }

// MarshalText returns "…", so that the secret is not written to files.
func (s Secret) MarshalText() ([]byte, error) { return []byte("…"), nil }

// parseScalar sets v from a text. allowed describes the texts of v's type, for error messages. v must be addressable;
// for other types than those of numbers, times and booleans it must be a string, which every text fits. If the text
// does not fit, v may be changed. allowed is "" for a string.
func parseScalar(text string, v reflect.Value) (allowed string, err error) {
	switch into := v.Addr().Interface().(type) {
	case *bool:
		*into, err = strconv.ParseBool(text)
		return "true or false", err
	case *int:
		*into, err = strconv.Atoi(text)
		return "a whole number", err
	case *float64:
		*into, err = strconv.ParseFloat(text, 64)
		return "a number", err
	case *time.Duration:
		*into, err = time.ParseDuration(text)
		return "a duration with its unit, such as 200ms, 30s or 2m", err
	case *time.Time:
		*into, err = time.Parse(time.DateOnly, text)
		if err == nil {
			*into = into.AddDate(0, 0, 1).Add(-time.Second) // the end of that day
		} else {
			*into, err = time.Parse(time.RFC3339, text)
		}
		return "a day such as 2027-06-30, or a moment such as 2027-06-30T12:00:00Z", err
	case *ByteSize:
		return "a number of bytes, such as 65536, 64KiB or 1MiB", into.UnmarshalText([]byte(text))
	}
	v.SetString(text)
	return "", nil
}
