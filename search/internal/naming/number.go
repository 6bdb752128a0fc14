package naming

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// date is a day. A zero year is one that the text does not say.
type date struct{ year, month, day int }

var months = []string{
	"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
	"december",
}

// monthOf returns the number of a month, by its English name or the first three letters of it; 0 for other words.
func monthOf(word string) int {
	for i, name := range months {
		if word == name || len(word) >= 3 && strings.HasPrefix(name, word) && (len(word) == 3 || len(word) == 4) {
			return i + 1
		}
	}
	return 0
}

var (
	numericDate = regexp.MustCompile(`^(\d{1,4})([./-])(\d{1,2})([./-])(\d{1,4})$`)
	dayOfMonth  = regexp.MustCompile(`^(\d{1,2})(?:st|nd|rd|th)?$`)
	yearOnly    = regexp.MustCompile(`^[12]\d{3}$`)
)

// dateLength returns how many words the date has that a text begins with; 0 where it begins with none.
func dateLength(tokens []token) int {
	if numericDate.MatchString(tokens[0].bare) {
		return 1
	}
	for n := 3; n >= 2; n-- {
		if len(tokens) >= n && len(datesAt(tokens[:n])) > 0 {
			return n
		}
	}
	return 0
}

// datesAt returns the days that words may say: two where 10/8 may be of August and of October.
func datesAt(tokens []token) (out []date) {
	add := func(year, month, day string) {
		y, _ := strconv.Atoi(year)
		m, _ := strconv.Atoi(month)
		d, _ := strconv.Atoi(day)
		if m >= 1 && m <= 12 && d >= 1 && d <= 31 && !slices.Contains(out, date{y, m, d}) {
			out = append(out, date{y, m, d})
		}
	}
	if len(tokens) == 1 {
		parts := numericDate.FindStringSubmatch(tokens[0].bare)
		switch {
		case parts == nil || parts[2] != parts[4]:
		case len(parts[1]) == 4:
			add(parts[1], parts[3], parts[5])
		case len(parts[5]) == 4:
			add(parts[5], parts[3], parts[1])
			add(parts[5], parts[1], parts[3])
		}
		return out
	}
	year := ""
	if len(tokens) == 3 {
		if !yearOnly.MatchString(tokens[2].bare) {
			return nil
		}
		year = tokens[2].bare
	}
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		day := dayOfMonth.FindStringSubmatch(tokens[order[0]].fold)
		month := monthOf(tokens[order[1]].fold)
		if day != nil && month > 0 {
			add(year, strconv.Itoa(month), day[1])
		}
	}
	return out
}

// same reports whether two dates may be the same day: where one has no year, by month and day.
func (d date) same(other date) bool {
	return d.month == other.month && d.day == other.day && (d.year == other.year || d.year == 0 || other.year == 0)
}

// values returns the numbers that a word of digits may stand for, in one notation: 8,848.86 is 8848.86, and 1.234 may
// be that and 1234.
func values(word string) (out []string) {
	whole := strings.NewReplacer("'", "", "’", "", "\u00a0", "", "\u202f", "").Replace(word)
	for _, marks := range [][2]string{{",", "."}, {".", ","}} { // of thousands, and before a fraction
		before, fraction, hasFraction := strings.Cut(whole, marks[1])
		groups := strings.Split(before, marks[0])
		good := groups[0] != "" && !strings.ContainsAny(fraction, ".,")
		for i, group := range groups {
			good = good && isDigits(group) && (len(groups) == 1 || i > 0 && len(group) == 3 || i == 0 && len(group) <= 3)
		}
		if !good || hasFraction && !isDigits(fraction) {
			continue
		}
		value := strings.TrimLeft(strings.Join(groups, ""), "0")
		fraction = strings.TrimRight(fraction, "0")
		if fraction != "" {
			value += "." + fraction
		}
		if value == "" {
			value = "0"
		}
		if !slices.Contains(out, value) {
			out = append(out, value)
		}
	}
	return out
}

func isDigits(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return true
}

// Numbers that are written out.
var (
	units = []string{
		"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
		"thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
	}
	tens = []string{"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"}
)

// writtenValue returns the number that a word stands for, such as 42 for forty-two; "" for other words.
func writtenValue(word string) string {
	if i := slices.Index(units, word); i >= 0 {
		return strconv.Itoa(i)
	}
	first, second, _ := strings.Cut(word, "-")
	ten := slices.Index(tens, first)
	if ten < 2 {
		return ""
	}
	if second == "" {
		return strconv.Itoa(10 * ten)
	}
	if one := slices.Index(units, second); one > 0 && one < 10 {
		return strconv.Itoa(10*ten + one)
	}
	return ""
}
