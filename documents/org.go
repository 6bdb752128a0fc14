package documents

import (
	"regexp"
	"strings"
)

var (
	orgHeading = regexp.MustCompile(
		`^(\*{1,8})\s+(?:(?:TODO|DONE|NEXT|WAITING|CANCELLED)\s+)?(?:\[#[A-Z]\]\s+)?(.*?)(?:\s+:[\w@#%:]+:)?\s*$`,
	)
	orgKeyword = regexp.MustCompile(`(?i)^\s*#\+(\w+):\s*(.*)$`)
	orgBegin   = regexp.MustCompile(`(?i)^\s*#\+begin_(\w+)`)
	orgItem    = regexp.MustCompile(`^(\s*)([-+]|\d{1,3}[.)])\s+(?:\[[ X-]\]\s+)?(.*)$`)
	orgDrawer  = regexp.MustCompile(`^\s*:[\w-]+:\s*$`)
	orgRule    = regexp.MustCompile(`^\s*\|[-+]+\|?\s*$`)
	orgInline  = []replacement{
		{regexp.MustCompile(`\[\[[^\]]*\]\[([^\]]*)\]\]`), "$1"},
		{regexp.MustCompile(`\[\[([^\]]*)\]\]`), "$1"},
		{regexp.MustCompile(`(^|[\s("'])[*/_+]([^\s*/_+](?:[^*/_+]*[^\s*/_+])?)[*/_+]([\s.,;:!?)"']|$)`), "$1$2$3"},
		{regexp.MustCompile(`(^|[\s("'])[=~]([^=~]+)[=~]`), "$1$2"},
	}
)

// readOrg writes the headings, lists, tables, code and paragraphs of an Org text as blocks, without property drawers
// and export settings. It returns the text's title, or else its first heading; "" if it has neither. The error is
// always nil.
func readOrg(w *writer, text string) (title string, err error) {
	p := &paragraphWriter{w: w, plain: func(s string) string { return replaceAll(s, orgInline) }, kind: Paragraph}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], " \t")
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "":
			p.flush()
		case orgHeading.MatchString(line):
			h := orgHeading.FindStringSubmatch(line)
			p.heading(len(h[1]), h[2])
		case orgBegin.MatchString(line):
			kind := strings.ToLower(orgBegin.FindStringSubmatch(line)[1])
			end := i + 1
			for end < len(lines) && !strings.HasPrefix(strings.ToLower(strings.TrimSpace(lines[end])), "#+end_"+kind) {
				end++
			}
			if kind == "src" || kind == "example" || kind == "verse" {
				p.code(lines[i+1 : min(end, len(lines))])
				i = end
			} else if kind == "comment" || kind == "export" {
				i = end
			} else {
				p.flush()
			}
		case orgKeyword.MatchString(line):
			p.flush()
			k := orgKeyword.FindStringSubmatch(line)
			switch strings.ToLower(k[1]) {
			case "title":
				title = k[2]
			case "caption":
				w.add(Caption, 0, p.plain(k[2]))
			case "author", "subtitle", "description":
				w.add(Paragraph, 0, p.plain(k[2]))
			}
		case strings.HasPrefix(trimmed, "#+"), strings.HasPrefix(trimmed, "# "):
		case orgDrawer.MatchString(line):
			for i+1 < len(lines) && !strings.EqualFold(strings.TrimSpace(lines[i]), ":END:") {
				i++
			}
		case strings.HasPrefix(trimmed, "|"):
			var rows [][]string
			headed := 0
			for ; i < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[i]), "|"); i++ {
				if orgRule.MatchString(lines[i]) {
					if headed == 0 {
						headed = len(rows)
					}
					continue
				}
				rows = append(rows, pipeRow(lines[i]))
			}
			i--
			if headed == len(rows) {
				headed = 0
			}
			p.table(rows, headed)
		case strings.HasPrefix(trimmed, ": ") && len(p.lines) == 0:
			p.code([]string{trimmed[2:]})
		case orgItem.MatchString(line):
			item := orgItem.FindStringSubmatch(line)
			p.begin(Item, 1+len(item[1])/2)
			if item[2] != "-" && item[2] != "+" {
				item[3] = item[2] + " " + item[3]
			}
			p.add(item[3])
		case strings.HasPrefix(trimmed, "SCHEDULED:"),
			strings.HasPrefix(trimmed, "DEADLINE:"),
			strings.HasPrefix(trimmed, "CLOSED:"):
			p.flush()
			w.add(Paragraph, 0, trimmed)
		default:
			p.add(trimmed)
		}
	}
	p.flush()
	if title == "" {
		title = firstHeading(w)
	}
	return title, nil
}
