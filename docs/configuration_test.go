package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// configurationIntroduction stands above the keys of configuration.md.
const configurationIntroduction = `# Configuration keys

Every key of ` + "`conclave.yaml`" + ` with its default. Commands read it in the current folder, or where
` + "`--config`" + ` says. Write only the keys that you change:

` + "```yaml" + `
listen: 0.0.0.0:8080
collection: /srv/handbook
limits: {question_bytes: 16KiB}
` + "```" + `

Flags take precedence over the environment, and the environment over the file. The variable of a key is ` + "`CONCLAVE_`" + ` and its
path in capitals: ` + "`limits.question_bytes`" + ` is ` + "`CONCLAVE_LIMITS_QUESTION_BYTES`" + `. Lists are separated by commas there. Relative
paths start at the file's folder. ` + "`conclave serve --print-config`" + ` prints what is in effect; a misspelt key is an error that
names the line.
`

var (
	keyLine      = regexp.MustCompile(`^( *)([a-z0-9_]+):(?: +([^#\s][^#]*?))?(?: +# ?(.*))?$`)
	commentLine  = regexp.MustCompile(`^ *# ?(.*)$`)
	exampleLine  = regexp.MustCompile(`^#: ?(.*)$`)
	commentStart = 20 // column from which a comment continues that of the key above it
)

// keyRow is a key of the configuration: its path, its default, and its comment.
type keyRow struct{ path, value, comment string }

// configurationPage returns configuration.md: the keys of the text of conclave.yaml as one table for each section, with
// the comments beside the keys, and the commented examples (lines that begin with "#:") below their section. Keys
// without a section that follow each other share a table.
func configurationPage(text string) string {
	c := configurationWriter{}
	c.page.WriteString(configurationIntroduction)
	_, text, _ = strings.Cut(text, "\n\n") // the introduction of the file
	for line := range strings.Lines(text) {
		c.addLine(strings.TrimRight(line, "\n"))
	}
	c.flush()
	return c.page.String()
}

// configurationWriter makes configuration.md line by line. The zero value has no page.
type configurationWriter struct {
	page    strings.Builder
	lead    []string // comment lines that stand above the next key or example
	intro   []string // those of the present section
	names   []string // keys of the first level in the present section
	nested  bool     // the present section is one key with keys below it
	rows    []keyRow
	example []string
	parents []string // keys above the present line, one for each level of two spaces
}

// addLine adds a line of conclave.yaml.
func (c *configurationWriter) addLine(line string) {
	if found := exampleLine.FindStringSubmatch(line); found != nil {
		for _, comment := range c.lead {
			c.example = append(c.example, "# "+comment)
		}
		c.example = append(c.example, found[1])
		c.lead = nil
		return
	}
	if found := commentLine.FindStringSubmatch(line); found != nil {
		if indent := len(line) - len(strings.TrimLeft(line, " ")); indent >= commentStart && len(c.rows) > 0 {
			c.rows[len(c.rows)-1].comment += " " + found[1]
		} else if found[1] != "" {
			c.lead = append(c.lead, found[1])
		}
		return
	}
	found := keyLine.FindStringSubmatch(line)
	if found == nil {
		return
	}
	key, value, comment := found[2], found[3], found[4]
	level := len(found[1]) / 2
	if level == 0 {
		if c.nested || value == "" || len(c.example) > 0 || len(c.lead) > 0 {
			c.flush()
		}
		c.nested = value == ""
		c.names = append(c.names, key)
		c.intro = append(c.intro, c.lead...)
		c.lead = nil
	}
	c.parents = append(slices.Clone(c.parents[:level]), key)
	if value != "" {
		value = "`" + value + "`"
	} else if comment == "" {
		return
	}
	c.rows = append(c.rows, keyRow{strings.Join(c.parents, "."), value, comment})
}

// flush writes the present section and begins another one.
func (c *configurationWriter) flush() {
	if len(c.rows) > 0 {
		fmt.Fprintf(&c.page, "\n## %s\n", strings.Join(c.names, ", "))
		if len(c.intro) > 0 {
			fmt.Fprintf(&c.page, "\n%s\n", strings.Join(c.intro, "\n"))
		}
		c.page.WriteString("\n| key | default | meaning |\n| --- | --- | --- |\n")
		for _, r := range c.rows {
			fmt.Fprintf(&c.page, "| `%s` | %s | %s |\n", r.path, r.value, strings.ReplaceAll(r.comment, "|", `\|`))
		}
	}
	if len(c.example) > 0 {
		fmt.Fprintf(&c.page, "\n```yaml\n%s\n```\n", strings.Join(c.example, "\n"))
	}
	c.names, c.intro, c.rows, c.example = nil, nil, nil, nil
}
