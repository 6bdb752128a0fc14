package server

import (
	"context"

	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/collections"
)

// settings implements handlers.Settings for a collection that is served.
type settings struct{ *collection }

// Settings returns the collection's present settings as the store has them. It fails if the store cannot be read or
// its text cannot be parsed.
func (s settings) Settings() (collections.Settings, error) {
	text, err := s.assembly.Store.Settings()
	if err != nil {
		return collections.Settings{}, err
	}
	return assembly.ParseSettings(text)
}

// Configure replaces the stored synonyms, overrides and fields by those of to, keeps the other settings, and lets
// searches use them. The error is a *collections.Error if a value is invalid. Other errors may come after the settings
// were stored.
func (s settings) Configure(ctx context.Context, to collections.Settings) error {
	if err := assembly.CheckSettings(&to); err != nil {
		return &collections.Error{Code: "out_of_range", Detail: err.Error()}
	}
	s.configuring.Lock()
	defer s.configuring.Unlock()
	text, err := s.assembly.Store.Settings()
	if err != nil {
		return err
	}
	now, created, err := collections.Parse(text)
	if err != nil {
		return err
	}
	now.Synonyms = to.Synonyms
	now.Overrides = to.Overrides
	now.Fields = to.Fields
	text, err = collections.Format(now, created)
	if err != nil {
		return err
	}
	if err := s.assembly.Store.Configure(ctx, text); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renewLineUp()
}
