package sites

import (
	"bytes"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// robotsBytes is how much of a robots.txt is read, as RFC 9309 asks for at least. What follows has no effect.
const robotsBytes = 500 << 10

// robots are the rules of a robots.txt for one reader (RFC 9309). The zero value allows everything.
type robots struct {
	rules    []robotsRule
	delay    time.Duration // crawl-delay; 0: none
	sitemaps []string      // as they are written
}

// robotsRule allows or forbids addresses.
type robotsRule struct {
	matcher // of a pattern with escapes as addresses have them
	allow   bool
}

// parseRobots returns the rules of a robots.txt for the reader with this product name, in any case. The rules of all
// groups with this name count together; where none has it, those of the groups for *. Lines that cannot be understood
// have no effect.
func parseRobots(text []byte, product string) robots {
	text = bytes.TrimPrefix(text[:min(len(text), robotsBytes)], []byte("\xEF\xBB\xBF"))
	var own, others robots
	var sitemaps []string
	named := false            // some group is for the product
	mine, all := false, false // the group that is being read is for the product, for all
	starting := true          // the last line began a group
	for line := range strings.FieldsFuncSeq(string(text), func(r rune) bool { return r == '\n' || r == '\r' }) {
		key, value := robotsLine(line)
		switch key {
		case "user-agent":
			if !starting {
				mine, all, starting = false, false, true
			}
			mine = mine || strings.EqualFold(productOf(value), product)
			all = all || strings.HasPrefix(value, "*")
			named = named || mine
			continue
		case "sitemap":
			if value != "" {
				sitemaps = append(sitemaps, value)
			}
			continue
		case "allow", "disallow", "crawl-delay":
		default:
			continue // does not end a run of user agents
		}
		starting = false
		for _, group := range []struct {
			applies bool
			rules   *robots
		}{{mine, &own}, {all, &others}} {
			if group.applies {
				group.rules.add(key, value)
			}
		}
	}
	if !named {
		own = others
	}
	own.sitemaps = sitemaps
	return own
}

// robotsLine returns the key of a line, in lower case, and its value, without the comment; "" for a line without a key.
func robotsLine(line string) (key, value string) {
	line, _, _ = strings.Cut(line, "#")
	key, value, found := strings.Cut(line, ":")
	if !found {
		return "", ""
	}
	return strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
}

// productOf returns the name that a user-agent line begins with: letters, _ and -, without a version.
func productOf(value string) string {
	end := strings.IndexFunc(value, func(r rune) bool {
		return r != '_' && r != '-' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if end < 0 {
		return value
	}
	return value[:end]
}

// longestDelay bounds a crawl-delay that is obeyed, so that a mistake does not stop a reading.
const longestDelay = time.Minute

// add adds a rule or delay to the rules of a group. An empty path is no rule.
func (r *robots) add(key, value string) {
	if key == "crawl-delay" {
		seconds, err := strconv.ParseFloat(value, 64)
		if err == nil && seconds > 0 {
			r.delay = time.Duration(min(seconds, longestDelay.Seconds()) * float64(time.Second))
		}
		return
	}
	if value == "" || !utf8.ValidString(value) {
		return
	}
	if value[0] != '/' && value[0] != '*' {
		value = "/" + value
	}
	pattern := Pattern(normaliseEscapes(value, queryCharacters))
	r.rules = append(r.rules, robotsRule{newMatcher(pattern), key == "allow"})
}

// allows reports whether the rules let an address be read, by its path and query with escapes as normalise writes them.
// The longest pattern that matches decides; of equally long ones, one that allows.
func (r *robots) allows(path string) bool {
	longest := -1
	allowed := true
	for i := range r.rules {
		rule := &r.rules[i]
		n := rule.bytes
		if n < longest || n == longest && allowed || !rule.match(path) {
			continue
		}
		longest = n
		allowed = rule.allow
	}
	return allowed
}
