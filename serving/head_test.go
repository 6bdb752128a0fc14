package serving

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"

	"conclave/collection"
	"conclave/internal/tinyexperts"
	"conclave/models"
	"conclave/search"
)

// TestAHeadSearchesItsOwnersVectors: a DESIRE-ME expert is added without encoding
// anything, is asked beside its base in one run, and says how likely each domain is.
// Its base cannot be taken out.
func TestAHeadSearchesItsOwnersVectors(t *testing.T) {
	s := newSite(t, nil)
	base := tinyexperts.Golden(t, "base")
	for name, o := range map[string]models.ImportOptions{"base": {}, "desire-me": {Base: base}} {
		o.Name = name
		if _, err := models.Import(t.Context(), tinyexperts.Golden(t, name), filepath.Join(s.config.Bundles, name), o); err != nil {
			t.Fatal(err)
		}
	}
	index := func(name string) error {
		_, err := Index(t.Context(), IndexOptions{Config: s.config, Log: slog.New(slog.DiscardHandler), Experts: []string{name},
			Build: collection.BuildOptions{Progress: func(collection.Progress) {}}})
		return err
	}
	var missing *NoBaseError
	if err := index("desire-me"); !errors.As(err, &missing) {
		t.Errorf("without its base: %v", err)
	}
	for _, name := range []string{"base", "desire-me"} {
		if err := index(name); err != nil {
			t.Fatal(err)
		}
	}
	s.verify(3)
	a, err := Assemble(Options{Config: s.config, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	all := a.Experts.All()
	if len(all) != 2 || all[1].Owner() != "base" || all[1].Fingerprint() != all[0].Fingerprint() {
		t.Fatalf("%+v", all)
	}
	prints := a.Experts.Fingerprints()
	if prints["base"] == prints["desire-me"] || all[1].fingerprints()[search.FingerprintRun] != prints["base"] {
		t.Errorf("fingerprints %v", prints)
	}
	const question = "what keeps rice"
	answer, err := a.Engine.Search(t.Context(), search.Request{Question: question, Fusion: search.Methods{Names: []string{"sum"}}})
	if err != nil || len(answer.Degraded) != 0 || len(answer.Results) != 3 {
		t.Fatalf("%+v, %v", answer, err)
	}
	for _, source := range answer.Sources {
		if (source.Name == "desire-me") != (len(source.Domains) == 3) {
			t.Errorf("%s: domains %v", source.Name, source.Domains)
		}
	}
	if runs := all[0].Encoder.Stats().QuestionRows; runs != 1 {
		t.Errorf("%d encoder runs for one question", runs)
	}
	if err := collection.RemoveExpert(t.Context(), s.config.Collection, "base"); !errors.Is(err, collection.ErrIsOwner) {
		t.Errorf("taking the base out: %v", err)
	}
}
