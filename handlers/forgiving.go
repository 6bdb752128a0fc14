package handlers

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/corpus"
)

// keepAsWritten changes nothing and returns nil. It stands for normaliseLine where unknown fields are errors.
func keepAsWritten(map[string]any) *schema.Problem { return nil }

// maxUnknown is the most names of unknown fields that the answer to an upload lists.
const maxUnknown = 20

// normaliseLine changes the object of an uploaded line into that of a passage, as `conclave index` reads it: it renames
// BEIR's _id, splits Anserini's contents into title and text, and turns whole numbers as ids into strings. It deletes
// unknown fields and calls unknown with each name. It returns a problem if _id and id differ, or if an object with an
// unknown field has no text: that field was probably meant as the text.
func normaliseLine(object map[string]any, unknown func(name string)) *schema.Problem {
	if other, ok := object["_id"]; ok {
		delete(object, "_id")
		if id, both := object["id"]; both && id != other {
			return schema.NewProblem(
				"invalid_passage", "/_id differs from /id; give one of them.",
				schema.ProblemField{Pointer: "/_id", Detail: "differs from id"},
			)
		}
		object["id"] = other
	}
	if number, ok := object["id"].(json.Number); ok && !strings.ContainsAny(number.String(), ".eE") {
		object["id"] = number.String()
	}
	if contents, ok := object["contents"].(string); ok {
		delete(object, "contents")
		if _, both := object["text"]; !both {
			title, text := corpus.SplitContents(contents)
			if _, titled := object["title"]; titled {
				text = contents
			} else if title != "" {
				object["title"] = title
			}
			object["text"] = text
		}
	}
	_, texted := object["text"]
	for _, name := range slices.Sorted(maps.Keys(object)) {
		switch name {
		case "id", "title", "text", "tags", "metadata", "contents":
		default:
			unknown(name)
			delete(object, name)
			if !texted {
				return missingText()
			}
		}
	}
	return nil
}
