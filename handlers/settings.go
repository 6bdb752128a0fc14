package handlers

import (
	"context"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/collections"
	"example.org/conclave/search/lookup"
)

// Settings reads and changes the settings of a collection while it is served.
type Settings interface {
	// Settings returns the present settings.
	Settings() (collections.Settings, error)
	// Configure replaces Synonyms, Overrides and Fields by those of s; searches on this server have them when it
	// returns. It returns a *collections.Error if they are not possible.
	Configure(ctx context.Context, s collections.Settings) error
}

// ServedSettings are the settings of a collection that can be changed while it is served.
type ServedSettings struct {
	Synonyms  []collections.Synonyms `json:"synonyms,omitempty"`
	Overrides []collections.Override `json:"overrides,omitempty"`
	Fields    map[string]string      `json:"fields,omitempty"` // types of fields
}

// SettingsAnswer is the answer of /v1/admin/settings.
type SettingsAnswer struct {
	Synonyms  []collections.Synonyms `json:"synonyms"`
	Overrides []collections.Override `json:"overrides"`
	Fields    map[string]string      `json:"fields"` // types of fields
	// Misfits are values that are there and do not have the declared type of their field.
	Misfits []lookup.Misfits `json:"misfits"`
}

// getSettings answers GET /v1/admin/settings with the synonyms, overrides and field types of the call's collection,
// empty if it has none, and the values that do not fit these types. It returns a problem while the collection is not
// loaded.
func (a *API) getSettings(c *call, _ none) (out SettingsAnswer, err error) {
	engine, err := c.admittedEngine()
	if err != nil {
		return out, err
	}
	var s collections.Settings
	if c.api.settings != nil {
		s, err = c.api.settings.Settings()
		if err != nil {
			return out, err
		}
	}
	out.Synonyms = append([]collections.Synonyms{}, s.Synonyms...)
	out.Overrides = append([]collections.Override{}, s.Overrides...)
	out.Fields = map[string]string{}
	for field, kind := range s.Fields {
		out.Fields[field] = kind
	}
	out.Misfits, err = engine.Misfits(c.r.Context())
	return out, err
}

// putSettings answers PUT /v1/admin/settings: it replaces the synonyms, overrides and field types of the call's
// collection by those of s, and returns the new ones with the values that do not fit the types (getSettings). It
// returns a problem if the collection cannot be written to or is not loaded, or the settings are not possible.
func (a *API) putSettings(c *call, s ServedSettings) (out SettingsAnswer, err error) {
	if _, err := c.api.changeWriter(); err != nil {
		return out, err
	}
	if c.api.settings == nil {
		return out, schema.NewProblem("not_ready", "The settings of the collection are not there yet.")
	}
	err = c.api.settings.Configure(
		c.r.Context(), collections.Settings{Synonyms: s.Synonyms, Overrides: s.Overrides, Fields: s.Fields},
	)
	if err != nil {
		return out, collectionProblem(err)
	}
	return a.getSettings(c, none{})
}
