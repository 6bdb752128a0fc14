package talk

import (
	"regexp"
	"strings"
)

// Mention is one way to read a message as one about a document.
type Mention struct {
	Kind Kind
	Name string // what may be the document's name, as it is written
	// Topic is what is asked of it; "" if Kind is Document.
	Topic string
}

// Mentions returns the ways to read a message as one about a document, the likeliest first; nil if there are none
// or it has more than mostMention bytes. It knows English forms, and not which documents there are.
func Mentions(message string) (out []Mention) {
	text := strings.Join(strings.Fields(strings.Trim(message, " \t\r\n?!.")), " ")
	if len(text) > mostMention {
		return nil
	}
	text = polite.ReplaceAllString(text, "")
	for _, t := range learned()[0].templates {
		found := t.pattern.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		name, named := bareName(found[t.pattern.SubexpIndex("name")])
		if name == "" || t.named && !named {
			continue
		}
		mention := Mention{Kind: t.kind, Name: name}
		if t.kind == Within {
			mention.Topic = found[t.pattern.SubexpIndex("topic")]
		}
		out = append(out, mention)
	}
	return out
}

// mostMention is the largest number of bytes of a message that is read as one about a document.
const mostMention = 1000

// polite matches courtesies before and after a request.
var polite = regexp.MustCompile(`(?i)^(?:(?:please|hello|hi|hey|can you|could you|would you),? +)+|,? +please$`)

// template is a form of messages about a document.
type template struct {
	kind    Kind
	named   bool           // it counts only where the name is known to be that of a file
	pattern *regexp.Regexp // with the groups name and, if kind is Within, topic
}

// namedForm matches a name that can only be a document's: in quotation marks, with a word such as file, or with the
// ending of a file.
const namedForm = `(?:.+? +)??["“„'‘].+?["”“'’]|(?:.+? +)??(?:file|document|pdf|page) +[^ ,]+|` +
	`.+? +(?:file|document|pdf|page)|.+?\.[a-z][a-z0-9]{0,4}`

// withNames returns t with the pattern of an example, in which DOCUMENT and TOPIC stand for what differs. Case,
// commas and the number of spaces do not matter. It panics if the pattern cannot be compiled.
func (t template) withNames(example string) template {
	words := strings.Fields(example)
	for i, w := range words {
		bare, comma := strings.CutSuffix(w, ",")
		switch bare {
		case "DOCUMENT":
			words[i] = "(?<name>.+?)"
			if t.named {
				words[i] = "(?<name>" + namedForm + ")"
			}
		case "TOPIC":
			words[i] = "(?<topic>.+)"
		default:
			words[i] = regexp.QuoteMeta(bare)
		}
		if comma {
			words[i] += ","
		}
	}
	t.pattern = regexp.MustCompile("(?i)^" + strings.Join(words, ",? +") + "$")
	return t
}

var (
	quoted    = regexp.MustCompile(`^["“„'‘](.+)["”“'’]$`)
	article   = regexp.MustCompile(`(?i)^(?:the|a|this|that|my|our|your) +`)
	kindOfIt  = regexp.MustCompile(`(?i)^(?:file|document|pdf|page) +(.+)$|^(.+?) +(?:file|document|pdf|page)$`)
	endOfFile = regexp.MustCompile(`(?i)[^ ]\.[a-z][a-z0-9]{0,4}$`)
)

// bareName returns the name of a document without quotation marks, article, and words such as file; it may be "".
// named is whether one of these, but for the article, or the ending of a file says that it is a document.
func bareName(text string) (name string, named bool) {
	name = article.ReplaceAllString(strings.TrimSpace(text), "")
	if parts := kindOfIt.FindStringSubmatch(name); parts != nil {
		name = parts[1] + parts[2]
		named = true
	}
	if parts := quoted.FindStringSubmatch(name); parts != nil {
		return strings.TrimSpace(parts[1]), true
	}
	return name, named || endOfFile.MatchString(name)
}
