package handlers

import (
	_ "embed"
	"slices"
	"strings"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/identity"
	"example.org/conclave/internal/languages"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
)

// sampledPassages is the number of random passages by which a collection's languages and metadata are described.
const sampledPassages = 32

// CollectionInfo describes a collection. Languages, Unread, Fields and Backlog are set only in the description of a
// single, open collection.
type CollectionInfo struct {
	collections.Info
	Languages []string    `json:"languages,omitempty"` // codes, the most frequent first
	Unread    []string    `json:"unread,omitempty"`    // those of Languages that no expert reads
	Fields    []FieldInfo `json:"fields,omitempty"`
	Backlog   *Backlog    `json:"backlog,omitempty"`
}

// FieldInfo is a field of the metadata of passages, with the types of the values found in a sample.
type FieldInfo struct {
	Field string            `json:"field"`
	Kinds []conditions.Type `json:"kinds"`
}

// describeSampled returns info with the languages and metadata fields of a random sample of the passages that the
// caller may see. For a key with a filter it also sets the number of passages that match it; for others, the backlog.
// It fails if the collection is not loaded or cannot be read.
func (c *call) describeSampled(info CollectionInfo) (CollectionInfo, error) {
	engine, err := c.admittedEngine()
	if err != nil {
		return info, err
	}
	sample, err := engine.Sample(c.r.Context(), search.Caller{}, sampledPassages)
	if err != nil {
		return info, err
	}
	texts := make([]string, len(sample))
	for i, p := range sample {
		texts[i] = languages.TellingPart(p.Title, p.Text)
	}
	err = c.compute(func() error {
		info.Languages = languages.Of(texts)
		info.Unread = unreadLanguages(info.Languages, engine.Experts())
		info.Fields = metadataOf(sample)
		return nil
	})
	if err != nil {
		return info, err
	}
	if identity.IsRestricted(c.r.Context()) {
		_, passages := engine.Generation()
		info.Passages = &passages
		return info, nil
	}
	if writing := c.api.writing.Load(); writing != nil {
		info.Backlog = backlogOf(writing.Backlog())
	}
	return info, nil
}

// unreadLanguages returns those of the codes whose language none of the experts reads; nil without experts.
func unreadLanguages(codes []string, experts []learned.ExpertInfo) (unread []string) {
	for _, code := range codes {
		reads := func(x learned.ExpertInfo) bool { return learned.Languages(x.Languages).Reads(code) }
		if len(experts) > 0 && !slices.ContainsFunc(experts, reads) {
			unread = append(unread, code)
		}
	}
	return unread
}

// metadataOf returns the metadata fields with single values of these passages, sorted by name. Of the keys reserved for
// documents only the media type and the modification time are included.
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

// typeOf returns the type that a value is compared as. A string that is a date or a number counts as such.
func typeOf(v conditions.Value) conditions.Type {
	switch typed := v.Any().(type) {
	case bool:
		return conditions.Boolean
	case string:
		if _, _, ok := conditions.ParseDate(typed); ok {
			return conditions.Date
		}
		if _, ok := conditions.ParseNumber(typed); !ok {
			return conditions.Keyword
		}
	}
	return conditions.Numeric
}

// getOpenAPI returns the route handler that serves openapi.yaml, with the server's base path in it, as JSON or, for
// TypeYAML, as YAML. The handler fails if the request ends before a processor is free.
func getOpenAPI(contentType string) func(*API, *call) error {
	return func(_ *API, c *call) error {
		text := schema.APIDocument().JSON
		err := c.compute(func() (err error) {
			if contentType == schema.TypeYAML {
				text, err = schema.APIDocument().YAML()
			}
			if err == nil {
				text, err = setServerPath(text, front.BasePath(c.r.Context()))
			}
			return err
		})
		if err != nil {
			return err
		}
		return c.sendOnce(contentType, text)
	}
}
