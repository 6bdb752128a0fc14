package documents

import (
	"regexp"
	"strings"
)

var (
	texComment = regexp.MustCompile(`(^|[^\\])%.*$`)
	texSection = regexp.MustCompile(
		`^\\(part|chapter|section|subsection|subsubsection|paragraph|subparagraph)\*?(?:\[[^\]]*\])?` +
			`\{((?:[^{}]|\{[^{}]*\})*)\}\s*(?:\\label\{[^}]*\})?\s*(.*)$`,
	)
	texBegin = regexp.MustCompile(`^\\begin\{(\w+\*?)\}(.*)$`)
	texEnd   = regexp.MustCompile(`^\\end\{(\w+\*?)\}`)
	texItem  = regexp.MustCompile(`^\\item(?:\[([^\]]*)\])?\s*(.*)$`)
	// texBreak matches commands that begin a line of their own, and texEnded those that end one.
	texBreak = regexp.MustCompile(
		`\\(?:begin|end)\{|\\(?:item|caption)\b|\\(?:part|chapter|(?:sub){0,2}section|(?:sub)?paragraph)\*?[\[{]`,
	)
	texEnded = regexp.MustCompile(`\\end\{\w+\*?\}|` +
		`\\begin\{(?:itemize|enumerate|description)\}(?:\[[^\]]*\])?|` +
		`\\begin\{(?:tabularx?|tabular\*|longtable|array)\}(?:\[[^\]]*\])*(?:\{(?:[^{}]|\{[^{}]*\})*\})*`)
	// texArguments matches what the beginning of another environment is given.
	texArguments = regexp.MustCompile(`^(?:\[[^\]]*\]|\{[^{}\s]*\})*`)
	texTitle     = regexp.MustCompile(`(?s)\\title(?:\[[^\]]*\])?\{((?:[^{}]|\{[^{}]*\})*)\}`)
	// texDropped matches lines that define something, and texLayout a command for the layout that a line begins with.
	texDropped = regexp.MustCompile(
		`^\\(?:usepackage|documentclass|bibliography|bibliographystyle|pagestyle|newcommand|renewcommand|setlength)\b`,
	)
	texLayout = regexp.MustCompile(
		`^\\(?:maketitle|tableofcontents|newpage|clearpage|noindent|bigskip|medskip|smallskip|centering|label|vspace|` +
			`hspace|includegraphics|hline|toprule|midrule|bottomrule)\b\*?(?:\[[^\]]*\]|\{[^{}]*\})*\s*`,
	)
	texInline = []replacement{
		{
			regexp.MustCompile(
				`\\(?:label|cite[a-z]*|ref|eqref|pageref|index|vspace|hspace|includegraphics|pagestyle)\*?(?:\[[^\]]*\])*\{[^}]*\}`,
			),
			"",
		},
		{regexp.MustCompile(`\\href\{[^}]*\}\{([^}]*)\}`), "$1"},
		{regexp.MustCompile(`\\hypertarget\{[^}]*\}\{([^{}]*)\}`), "$1"},
		{regexp.MustCompile(`\\hypertarget\{[^}]*\}\{%?\s*$`), ""}, // around lines
		{regexp.MustCompile(`\\footnote\{([^{}]*)\}`), " ($1)"},
		{regexp.MustCompile(`\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}`), "$1/$2"},
		{regexp.MustCompile(`\\sqrt\{([^{}]*)\}`), "√($1)"},
		{regexp.MustCompile(`\^\{([^{}]*)\}`), "^$1"},
		{regexp.MustCompile(`_\{([^{}]*)\}`), "_$1"},
		{regexp.MustCompile(`\\(?:text|math)?(?:bf|it|tt|rm|sc|sf|sl|up)\b\s*`), ""},
		{regexp.MustCompile(`\\[a-zA-Z]+\*?(?:\[[^\]]*\])?\{([^{}]*)\}`), "$1"},
		{regexp.MustCompile(`\\[a-zA-Z]+\*?(?:\[[^\]]*\])?\{([^{}]*)\}`), "$1"},
		{regexp.MustCompile(`\\(?:times|cdot)\b`), "·"},
		{regexp.MustCompile(`\\(?:le|leq)\b`), "≤"},
		{regexp.MustCompile(`\\(?:ge|geq)\b`), "≥"},
		{regexp.MustCompile(`\\(?:ldots|dots)\b`), "…"},
		{regexp.MustCompile(`\\([a-zA-Z]+)\s?`), "$1 "},
		{regexp.MustCompile(`\\\\(?:\[[^\]]*\])?`), " "},
		{regexp.MustCompile("``|''"), `"`},
		{regexp.MustCompile(`\\([#$%&_{}])`), "$1"},
		{regexp.MustCompile(`\\[,;!: ]|~`), " "},
		{regexp.MustCompile(`[{}$]`), ""},
		{regexp.MustCompile(`---`), "—"},
		{regexp.MustCompile(`--`), "–"},
	}
)

// texLevels are the levels of headings.
var texLevels = map[string]int{
	"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5, "subparagraph": 6,
}

// texLines returns the lines of a text. Sections, environments and items that begin within a line begin lines of
// their own, except in code. From lines that are divided in this way it removes comments.
func texLines(text string) (lines []string) {
	code := "" // the environment of code that the line is in
	for line := range strings.SplitSeq(text, "\n") {
		begun := texBegin.FindStringSubmatch(strings.TrimSpace(line))
		switch {
		case code != "":
			if strings.Contains(line, `\end{`+code+`}`) {
				code = ""
			}
		case begun != nil && texCode[begun[1]]:
			code = begun[1]
		case texBreak.MatchString(line):
			line = texComment.ReplaceAllString(line, "$1")
			line = texEnded.ReplaceAllString(line, "$0\n")
			line = texBreak.ReplaceAllString(line, "\n$0")
			for part := range strings.SplitSeq(line, "\n") {
				if strings.TrimSpace(part) != "" {
					lines = append(lines, part)
				}
			}
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

// texCode are the environments whose lines are code.
var texCode = setOf("verbatim", "lstlisting", "minted", "Verbatim", "alltt")

// readLaTeX writes the blocks of a LaTeX text to w: sections, lists, tables, code and paragraphs. Of an unknown
// command the text in its braces is read. Drawings are left out with a warning. Of the preamble only the title is
// read, and returned; without one the first heading, or "". The error is always nil.
func readLaTeX(w *writer, text string) (title string, err error) {
	plain := func(s string) string { return replaceAll(s, texInline) }
	if m := texTitle.FindStringSubmatch(text[:min(len(text), 64<<10)]); m != nil {
		title = clean(plain(m[1]))
	}
	if _, body, found := strings.Cut(text, `\begin{document}`); found {
		text, _, _ = strings.Cut(body, `\end{document}`)
	}
	p := &paragraphWriter{w: w, plain: plain, kind: Paragraph}
	lines := texLines(text)
	depth := 0
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(texComment.ReplaceAllString(lines[i], "$1"))
		if line == "" {
			if strings.TrimSpace(lines[i]) == "" {
				p.flush()
			}
			continue
		}
		if m := texSection.FindStringSubmatch(line); m != nil {
			p.heading(texLevels[m[1]], m[2])
			line = m[3]
			if line == "" {
				continue
			}
		}
		if m := texBegin.FindStringSubmatch(line); m != nil {
			switch m[1] {
			case "verbatim", "lstlisting", "minted", "Verbatim", "alltt":
				end := texEndOf(lines, i+1, m[1])
				p.code(lines[i+1 : end])
				i = end
			case "tabular", "tabularx", "longtable", "tabular*", "array":
				end := texEndOf(lines, i+1, m[1])
				texTable(p, lines[i+1:end])
				i = end
			case "comment", "tikzpicture":
				i = texEndOf(lines, i+1, m[1])
				w.warn("a part of it (%s) was left out", m[1])
			case "itemize", "enumerate", "description":
				p.flush()
				depth++
			default:
				p.flush()
				line = strings.TrimSpace(texArguments.ReplaceAllString(m[2], ""))
			}
			if texBegin.MatchString(line) {
				continue
			}
		}
		for texLayout.MatchString(line) {
			line = texLayout.ReplaceAllString(line, "")
		}
		if line == "" {
			continue
		}
		switch {
		case texEnd.MatchString(line):
			p.flush()
			switch texEnd.FindStringSubmatch(line)[1] {
			case "itemize", "enumerate", "description":
				depth = max(0, depth-1)
			}
		case texItem.MatchString(line):
			m := texItem.FindStringSubmatch(line)
			p.begin(Item, max(1, depth))
			if m[1] != "" {
				m[2] = m[1] + ": " + m[2]
			}
			p.add(m[2])
		case strings.HasPrefix(line, `\caption`):
			p.begin(Caption, 0)
			p.add(line)
			p.flush()
		case texDropped.MatchString(line):
		default:
			p.add(line)
		}
	}
	p.flush()
	if title == "" {
		title = firstHeading(w)
	}
	return title, nil
}

// texEndOf returns the index of the first line from `from` on that ends the environment `name`; len(lines) if none
// does.
func texEndOf(lines []string, from int, name string) int {
	for i := from; i < len(lines); i++ {
		if strings.Contains(lines[i], `\end{`+name+`}`) {
			return i
		}
	}
	return len(lines)
}

// texTable writes the rows of a LaTeX table to p. The first row names the columns if a rule follows it and it is
// not the only row.
func texTable(p *paragraphWriter, lines []string) {
	var rows [][]string
	headed := 0
	var text strings.Builder
	for _, line := range lines {
		line = strings.TrimSpace(texComment.ReplaceAllString(line, "$1"))
		rules := texRule.FindAllString(line, -1)
		line = texRule.ReplaceAllString(line, "")
		if len(rules) > 0 && len(rows) == 1 {
			headed = 1
		}
		for {
			before, after, ended := strings.Cut(line, `\\`)
			text.WriteString(" " + before)
			if !ended {
				break
			}
			row := strings.Split(strings.ReplaceAll(text.String(), `\&`, "＆"), "&")
			for i := range row {
				row[i] = strings.ReplaceAll(strings.TrimSpace(row[i]), "＆", "&")
			}
			rows = append(rows, row)
			text.Reset()
			line = after
		}
	}
	if rest := strings.TrimSpace(text.String()); rest != "" {
		rows = append(rows, strings.Split(rest, "&"))
	}
	if headed == len(rows) {
		headed = 0
	}
	p.table(rows, headed)
}

var texRule = regexp.MustCompile(
	`\\(?:hline|toprule|midrule|bottomrule|cline\{[^}]*\}|cmidrule(?:\([^)]*\))?\{[^}]*\})`,
)
