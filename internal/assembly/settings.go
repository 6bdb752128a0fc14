package assembly

import (
	"fmt"

	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/search"
	"example.org/conclave/search/ask"
	"example.org/conclave/store"
)

// addSettings adds the synonyms, overrides and field types of the collection's settings to d. Of a union it adds the
// synonyms and overrides of all members; fields whose types differ between members become conditions.Disputed. It fails
// if settings cannot be read or are invalid; d may then have some.
func (a *Assembly) addSettings(d *search.Defaults) error {
	disputed := map[string]bool{}
	for i, stored := range a.allStores() {
		text, err := stored.Settings()
		if err != nil {
			return fmt.Errorf("the settings of the collection: %w", err)
		}
		s, err := ParseSettings(text)
		if err != nil {
			return fmt.Errorf("the settings of the collection: %w", err)
		}
		for _, x := range s.Synonyms {
			d.Synonyms = append(d.Synonyms, ask.Synonyms(x))
		}
		for _, x := range s.Overrides {
			one := search.CollectionOverride{Override: ask.Override(x)}
			if a.Store == nil {
				one.Collection = a.joinedNames[i]
			}
			d.Overrides = append(d.Overrides, one)
		}
		types, err := conditions.ParseTypes(s.Fields)
		if err != nil {
			return err
		}
		for field, kind := range types {
			if d.Fields == nil {
				d.Fields = conditions.Types{}
			}
			was, declared := d.Fields[field]
			disputed[field] = disputed[field] || declared && was != kind
			d.Fields[field] = kind
		}
	}
	for field, is := range disputed {
		if is {
			d.Fields[field] = conditions.Disputed
		}
	}
	return nil
}

// allStores returns the store of the collection, or of a union the stores of its members.
func (a *Assembly) allStores() []store.Backend {
	if a.Store != nil {
		return []store.Backend{a.Store}
	}
	return a.joined
}

// ParseSettings returns the settings in a text. It fails if they cannot be parsed or CheckSettings refuses them.
func ParseSettings(text []byte) (collections.Settings, error) {
	s, _, err := collections.Parse(text)
	if err == nil {
		err = CheckSettings(&s)
	}
	return s, err
}

// CheckSettings returns an error if the settings have invalid synonyms, overrides or field types.
func CheckSettings(s *collections.Settings) error {
	for i := range s.Synonyms {
		x := ask.Synonyms(s.Synonyms[i])
		if wrong := x.Check(); wrong != "" {
			return fmt.Errorf("synonyms, entry %d: %s", i+1, wrong)
		}
	}
	if len(s.Overrides) > ask.MostOverrides {
		return fmt.Errorf("overrides has %d entries: at most %d are possible", len(s.Overrides), ask.MostOverrides)
	}
	for i := range s.Overrides {
		x := ask.Override(s.Overrides[i])
		if wrong := x.Check(); wrong != "" {
			return fmt.Errorf("overrides, entry %d: %s", i+1, wrong)
		}
	}
	_, err := conditions.ParseTypes(s.Fields)
	return err
}
