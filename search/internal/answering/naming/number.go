package naming

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// date is a day of a year. year is 0 if the text does not give it.
type date struct{ year, month, day int }

var months = []string{
	"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
	"december",
}

// monthOf returns the number, 1 to 12, of the month with this English name in lower case, or its first three or four
// letters; 0 for other words.
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

// dateLength returns the number of words of the date that tokens begin with; 0: they do not begin with a date. tokens
// must not be empty.
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

// datesAt returns the days that one to three words together can mean; nil: they are no date. 10/8/2020 can mean two:
// one in August and one in October.
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

// sameDay reports whether two dates can be the same day: day and month are equal, and the years too unless one is
// missing.
func (d date) sameDay(other date) bool {
	return d.month == other.month && d.day == other.day && (d.year == other.year || d.year == 0 || other.year == 0)
}

// numbersIn returns the numbers that a word of digits and marks can mean, in one notation with a decimal point:
// 8,848.86 gives 8848.86, and 1.234 gives both 1.234 and 1234. nil: it is no number.
func numbersIn(word string) (out []string) {
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

// isDigits reports whether s has only the digits 0 to 9; true for "".
func isDigits(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return true
}

// English words for numbers: units[n] for n up to nineteen, and tens[n] for ten times n.
var (
	units = []string{
		"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
		"thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
	}
	tens = []string{"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"}
)

// WrittenValue returns the digits of an English number word in lower case up to ninety-nine, such as 42 for forty-two;
// "" for other words.
func WrittenValue(word string) string {
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
