package documents

import (
	"regexp"
	"slices"
	"strings"
)

var (
	manRequest = regexp.MustCompile(`^[.']\s*(\w+)\s*(.*)$`)
	manEscapes = []replacement{
		{regexp.MustCompile(`\\f(?:\[[^\]]*\]|\(..|.)`), ""},
		{regexp.MustCompile(`\\s[-+]?\d+`), ""},
		{regexp.MustCompile(`\\["#].*$`), ""},
		{regexp.MustCompile(`\\\*\(lq|\\\(lq`), "“"},
		{regexp.MustCompile(`\\\*\(rq|\\\(rq`), "”"},
		{regexp.MustCompile(`\\\(aq|\\\(cq|\\\(oq`), "'"},
		{regexp.MustCompile(`\\\(em`), "—"},
		{regexp.MustCompile(`\\\(en`), "–"},
		{regexp.MustCompile(`\\\(bu`), "•"},
		{regexp.MustCompile(`\\\(co`), "©"},
		{regexp.MustCompile(`\\\((..)`), ""},
		{regexp.MustCompile(`\\\[[^\]]*\]`), ""},
		{regexp.MustCompile(`\\[&|^%:c]`), ""},
		{regexp.MustCompile(`\\[ ~0]`), " "},
		{regexp.MustCompile(`\\e`), `\`},
		{regexp.MustCompile(`\\(.)`), "$1"},
	}
	manWord      = regexp.MustCompile(`"([^"]*)"|(\S+)`)
	manSeparator = regexp.MustCompile(`tab ?\((.)\)`)
	manBlock     = regexp.MustCompile(`T[{}]`)
)

// readManPage reads a page of a manual in the macros man or mdoc: its sections, tagged paragraphs, tables and examples.
// The title is the page's name with its section, such as "tar(1)"; "" if it has none. The error is always nil.
func readManPage(w *writer, text string) (title string, err error) {
	plain := func(s string) string { return replaceAll(s, manEscapes) }
	p := &paragraphWriter{w: w, plain: func(s string) string { return s }, kind: Paragraph}
	var code []string
	inCode, tag := false, false
	var table []string // the lines of a table
	inTable := false
	for line := range strings.SplitSeq(text, "\n") {
		request := manRequest.FindStringSubmatch(line)
		if request == nil {
			switch {
			case inTable:
				table = append(table, plain(line))
			case inCode:
				code = append(code, plain(line))
			case strings.TrimSpace(line) == "":
				p.flush()
			case strings.HasPrefix(line, `.\`), strings.HasPrefix(line, `'\`), line == ".": // comments and ends of blocks
			default:
				p.add(plain(line))
				if tag {
					p.lines[len(p.lines)-1] += ":"
					tag = false
				}
			}
			continue
		}
		name := request[1]
		words := manWords(plain(request[2]))
		all := strings.Join(words, " ")
		if inCode {
			switch name {
			case "fi", "EE", "Ed":
				p.code(code)
				code, inCode = nil, false
			case "SH", "SS", "Sh", "Ss":
				p.code(code)
				code, inCode = nil, false
			default:
				if all != "" && len(name) <= 2 {
					code = append(code, all)
				}
				continue
			}
		}
		switch name {
		case "TS":
			p.flush()
			inTable = true
		case "TE":
			p.table(manTable(table), 0)
			table, inTable = nil, false
		case "TH", "Dt":
			if len(words) > 1 {
				title = words[0] + "(" + words[1] + ")"
			}
		case "SH", "Sh":
			p.heading(1, all)
		case "SS", "Ss":
			p.heading(2, all)
		case "PP", "LP", "P", "Pp", "RS", "RE", "sp", "br", "El", "Bl":
			p.flush()
		case "TP", "TQ":
			p.begin(Item, 1)
			tag = true
		case "IP", "It":
			p.begin(Item, 1)
			if name == "IP" && len(words) > 0 {
				words = words[:1]
			}
			if len(words) > 0 && words[0] != "•" && words[0] != "*" {
				p.add(manMacros(words) + ":")
			}
		case "nf", "EX", "Bd":
			p.flush()
			inCode = true
		case "B", "I", "SM", "SB", "BR", "RB", "BI", "IB", "IR", "RI":
			text := all
			if len(name) == 2 && name != "SM" && name != "SB" {
				text = strings.Join(words, "")
			}
			p.add(text)
			if tag {
				p.lines[len(p.lines)-1] += ":"
				tag = false
			}
		case "Nm", "Fl", "Ar", "Op", "Xr", "Pa", "Nd", "Cm", "Ev", "Va", "Em", "Sy", "Ql", "Li", "Dq", "Sq", "Fn", "Fa",
			"Vt", "In", "Ic":
			text := manMacros(append([]string{name}, words...))
			if text == "" && name == "Nm" {
				text, _, _ = strings.Cut(strings.ToLower(title), "(")
			}
			p.add(text)
		case "UR", "MT":
			p.add(all)
		}
	}
	if inCode {
		p.code(code)
	}
	p.table(manTable(table), 0)
	p.flush()
	return title, nil
}

// manTable returns the rows of a table in tbl's language, from the lines between .TS and .TE; nil if there are
// none. The rows begin after the line of formats, which ends with a full stop. Cells are separated by tabs, or by
// the character that the first line names, as in "tab(|);". A cell with several lines stands between T{ and T}.
// Rules are left out.
func manTable(lines []string) (rows [][]string) {
	separator := "\t"
	formats := slices.IndexFunc(lines, func(line string) bool { return strings.HasSuffix(strings.TrimSpace(line), ".") })
	if match := manSeparator.FindStringSubmatch(strings.Join(lines[:formats+1], "\n")); match != nil {
		separator = match[1]
	}
	var row strings.Builder
	open := 0 // cells that were begun with T{ and not ended
	for _, line := range lines[formats+1:] {
		if rule := strings.TrimSpace(line); row.Len() == 0 && (rule == "_" || rule == "=") {
			continue
		}
		row.WriteString(line)
		open += strings.Count(line, "T{") - strings.Count(line, "T}")
		if open > 0 {
			row.WriteByte(' ')
			continue
		}
		rows = append(rows, strings.Split(manBlock.ReplaceAllString(row.String(), ""), separator))
		row.Reset()
	}
	if row.Len() > 0 {
		rows = append(rows, strings.Split(manBlock.ReplaceAllString(row.String(), ""), separator))
	}
	return rows
}

// manWords returns the arguments of a macro line, such as `.B "first word" second`, without quotation marks.
func manWords(line string) (words []string) {
	for _, m := range manWord.FindAllStringSubmatch(line, -1) {
		words = append(words, m[1]+m[2])
	}
	return words
}

// manMacros returns the text of an mdoc line, in which macro names stand between texts: "-v file" for "Fl v Ar file".
func manMacros(words []string) string {
	var out []string
	flag := false
	for _, word := range words {
		switch word {
		case "Fl":
			flag = true
			continue
		case "Ar", "Nm", "Op", "Xr", "Pa", "Nd", "Cm", "Ev", "Va", "Em", "Sy", "Ql", "Li", "Dq", "Sq", "Ns", "Fn", "Fa",
			"Vt", "In", "Ic", "Oo", "Oc":
			continue
		}
		if flag {
			word = "-" + word
			flag = false
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}
