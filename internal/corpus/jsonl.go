package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"example.org/conclave/internal/wording"
)

// parseJSON returns the passage in a JSON object with the members id (or _id), title, text (or contents), tags and
// metadata. It puts idPrefix before the id, checks the passage, and calls other with the name of every other member. A
// number as id is taken as it is written; null is the same as absent. A title without a text is enough, unless there
// are other members, one of which may be the text. Errors are *FieldError.
func parseJSON(record []byte, idPrefix string, other func(name string)) (Passage, error) {
	var p Passage
	if err := parseObject(record, &p, other); err != nil {
		return Passage{}, err
	}
	if p.ID != "" { // else a prefix would hide that it is missing
		p.ID = idPrefix + p.ID
	}
	if err := p.Check(); err != nil {
		return Passage{}, err
	}
	return p, nil
}

// parseObject sets the fields of p from a JSON object with the members that parseJSON describes, without checking the
// passage. It calls other with the name of every other member. It returns a *FieldError if a member has the wrong type,
// id and _id differ, or the text is missing.
func parseObject(record []byte, p *Passage, other func(name string)) error {
	contents, hasText := "", false
	var others []string
	err := eachMember("", record, func(key string, value jsontext.Value) error {
		switch key {
		case "id", "_id":
			var id string
			if err := parseID(key, value, &id); err != nil {
				return err
			}
			if p.ID != "" && id != "" && id != p.ID {
				return &FieldError{
					Field:   key,
					Value:   wording.Quote(id),
					Problem: fmt.Sprintf("differs from the other id (%s): give one of id and _id", wording.Quote(p.ID)),
				}
			}
			p.ID = max(id, p.ID) // one of them is empty, or they are equal
			return nil
		case "title":
			return parseString(key, value, &p.Title)
		case "text":
			hasText = true
			return parseString(key, value, &p.Text)
		case "contents":
			return parseString(key, value, &contents)
		case "tags":
			return parseTags(value, &p.Tags)
		case "metadata":
			return parseMetadata(value, &p.Metadata)
		}
		other(key)
		if len(others) < 8 {
			others = append(others, wording.Quote(key))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if p.Text == "" && p.Title == "" {
		p.Title, p.Text = SplitContents(contents)
	} else if p.Text == "" {
		p.Text = contents
	}
	// A text under another name must not be missing without a word.
	if p.Text == "" && !hasText && (strings.TrimSpace(p.Title) == "" || len(others) > 0) {
		problem := "is missing"
		if len(others) > 0 {
			problem += ": the object has " + strings.Join(others, ", ")
		}
		return &FieldError{Field: "text", Problem: problem}
	}
	return nil
}

// SplitContents returns the title and the text in contents, the one field that Pyserini and Anserini index. The first
// line is the title, without quotes around it, if text follows it; otherwise the title is "".
func SplitContents(contents string) (title, text string) {
	title, text, more := strings.Cut(contents, "\n")
	if !more || strings.TrimSpace(text) == "" {
		return "", contents
	}
	title = strings.TrimSuffix(title, "\r")
	if len(title) >= 2 && title[0] == '"' && title[len(title)-1] == '"' {
		title = title[1 : len(title)-1]
	}
	return title, text
}

var null = []byte("null")

// parseString sets into to the JSON string in value. null leaves it alone; anything else is a *FieldError.
func parseString(field string, value []byte, into *string) error {
	if bytes.Equal(value, null) {
		return nil
	}
	if value[0] != '"' {
		return &FieldError{Field: field, Value: wording.Quote(string(value)), Problem: "is not a string"}
	}
	if err := json.Unmarshal(value, into); err != nil {
		return &FieldError{Field: field, Value: wording.Quote(string(value)), Problem: err.Error()}
	}
	return nil
}

// parseID sets into to the id in value: a JSON string, or an integer as it is written. null leaves it alone; anything
// else is a *FieldError.
func parseID(field string, value []byte, into *string) error {
	if c := value[0]; c == '-' || c >= '0' && c <= '9' {
		if bytes.ContainsAny(value, ".eE") {
			return &FieldError{Field: field, Value: wording.Quote(string(value)), Problem: "is not a string or a whole number"}
		}
		*into = string(value)
		return nil
	}
	return parseString(field, value, into)
}

// parseTags appends the JSON list of strings in value to into. null leaves it alone; anything else is a *FieldError.
func parseTags(value []byte, into *[]string) error {
	if bytes.Equal(value, null) {
		return nil
	}
	var tags []*string // pointers, since null would pass as an empty string
	if err := json.Unmarshal(value, &tags); err != nil {
		return &FieldError{Field: "tags", Value: wording.Quote(string(value)), Problem: "is not a list of strings"}
	}
	for i, tag := range tags {
		if tag == nil {
			return &FieldError{Field: fmt.Sprintf("tags[%d]", i), Problem: "is null, not a string"}
		}
		*into = append(*into, *tag)
	}
	return nil
}

// parseMetadata sets into to the flat JSON object in value. It leaves out members that are null, and into alone if no
// member is left. Numbers become json.Number. Lists and objects inside are a *FieldError.
func parseMetadata(value []byte, into *map[string]any) error {
	if bytes.Equal(value, null) {
		return nil
	}
	metadata := map[string]any{}
	err := eachMember("metadata", value, func(key string, value jsontext.Value) error {
		field := "metadata." + key
		switch value[0] {
		case '"':
			var s string
			if err := parseString(field, value, &s); err != nil {
				return err
			}
			metadata[key] = s
		case 't', 'f':
			metadata[key] = value[0] == 't'
		case 'n': // as good as absent
		case '{', '[':
			return &FieldError{
				Field:   field,
				Value:   wording.Quote(string(value)),
				Problem: "is not a string, a number, true or false: metadata is flat",
			}
		default:
			metadata[key] = json.Number(value)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(metadata) > 0 {
		*into = metadata
	}
	return nil
}
