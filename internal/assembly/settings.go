package assembly

import (
	"fmt"

	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/search"
)

// addSettings adds what the settings of a collection say of searches.
func (a *Assembly) addSettings(d *search.Defaults) error {
	if a.Store == nil { // of several collections together
		return nil
	}
	text, err := a.Store.Settings()
	var s collections.Settings
	if err == nil {
		s, _, err = collections.Parse(text)
	}
	if err == nil {
		err = CheckSettings(&s)
	}
	if err != nil {
		return fmt.Errorf("the settings of the collection: %w", err)
	}
	for _, x := range s.Synonyms {
		d.Synonyms = append(d.Synonyms, search.Synonyms(x))
	}
	for field, kind := range s.Fields {
		if d.Fields == nil {
			d.Fields = map[string]conditions.Type{}
		}
		d.Fields[field] = conditions.Type(kind)
	}
	return nil
}

// CheckSettings returns an error where settings have synonyms or types of fields that cannot be.
func CheckSettings(s *collections.Settings) error {
	for i := range s.Synonyms {
		x := search.Synonyms(s.Synonyms[i])
		if wrong := x.Check(); wrong != "" {
			return fmt.Errorf("synonyms, entry %d: %s", i+1, wrong)
		}
	}
	for field, kind := range s.Fields {
		switch conditions.Type(kind) {
		case conditions.Keyword, conditions.Numeric, conditions.Date, conditions.Boolean:
		default:
			return fmt.Errorf("fields: the type of %q is %q, and has to be one of keyword, number, date, bool", field, kind)
		}
	}
	return nil
}
