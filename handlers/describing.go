package handlers

import (
	"slices"
	"strings"

	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/languages"
	"example.org/conclave/search"
)

// sampledPassages say in which languages a collection is, and what its metadata hold.
const sampledPassages = 32

// tellingBytes is how much of a text says in which language it is.
const tellingBytes = 2000

// CollectionInfo describes a collection. What its passages say of it, and what is not yet searched, is
// there where it was asked for by itself.
type CollectionInfo struct {
	collections.Info
	Languages []string    `json:"languages,omitempty"` // codes, the most frequent first
	Fields    []FieldInfo `json:"fields,omitempty"`
	Backlog   *Backlog    `json:"backlog,omitempty"`
}

// FieldInfo says what some passages have under a key of their metadata.
type FieldInfo struct {
	Field string            `json:"field"`
	Kinds []conditions.Type `json:"kinds"`
}

// looked adds to a collection's description what some of its passages say, as far as the caller may see
// these.
func (c *call) looked(info CollectionInfo) (CollectionInfo, error) {
	engine, err := c.engine()
	if err != nil {
		return info, err
	}
	sample, err := engine.Sample(c.r.Context(), sampledPassages)
	if err != nil {
		return info, err
	}
	texts := make([]string, len(sample))
	for i, p := range sample {
		texts[i] = p.Text[:min(tellingBytes, len(p.Text))]
	}
	err = c.compute(func() error {
		info.Languages = languages.Of(texts)
		info.Fields = metadataOf(sample)
		return nil
	})
	if err != nil {
		return info, err
	}
	if search.IsRestricted(c.r.Context()) {
		_, passages := engine.Generation()
		info.Passages = &passages
		return info, nil
	}
	if writing := c.api.writing.Load(); writing != nil {
		info.Backlog = backlogOf(writing.Backlog())
	}
	return info, nil
}

// metadataOf returns the fields of passages that hold single values, by name; of what documents need for
// themselves those that say something of the file.
func metadataOf(sample []corpus.Passage) (fields []FieldInfo) {
	own := slices.DeleteFunc(corpus.DocumentKeys(), func(key string) bool {
		return key == corpus.MediaTypeKey || key == corpus.ModifiedKey
	})
	kinds := map[string][]conditions.Type{}
	for _, p := range sample {
		for key, parsed := range p.Metadata {
			if v, ok := conditions.ValueOf(parsed); ok && !slices.Contains(own, key) {
				kinds[key] = append(kinds[key], typeOf(v))
			}
		}
	}
	for key, all := range kinds {
		slices.Sort(all)
		fields = append(fields, FieldInfo{key, slices.Compact(all)})
	}
	slices.SortFunc(fields, func(a, b FieldInfo) int { return strings.Compare(a.Field, b.Field) })
	return fields
}

// typeOf returns what a value can be compared with: a text that is a date or a number as such.
func typeOf(v conditions.Value) conditions.Type {
	switch of := v.Any().(type) {
	case bool:
		return conditions.Boolean
	case string:
		if _, _, ok := conditions.ParseDate(of); ok {
			return conditions.Date
		}
		if _, ok := conditions.ParseNumber(of); !ok {
			return conditions.Keyword
		}
	}
	return conditions.Numeric
}
