package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/configs"
	"example.org/conclave/encoder/batcher"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/indexing"
	"example.org/conclave/internal/testing/tinyexperts"
	"example.org/conclave/models/convert"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// importGolden makes bundles of training/golden: a base, under any name, and desire-me.
func (s *site) importGolden(names ...string) {
	s.t.Helper()
	base := tinyexperts.Golden(s.t, "base")
	for _, name := range names {
		from := base
		o := convert.Options{Name: name}
		if name == "desire-me" {
			from = tinyexperts.Golden(s.t, name)
			o.Base = base
		}
		if _, err := convert.Import(s.t.Context(), from, filepath.Join(s.config.Bundles, name), o); err != nil {
			s.t.Fatal(err)
		}
	}
}

// index adds experts to the collection, one after the other, and returns the first error.
func (s *site) index(names ...string) error {
	for _, name := range names {
		if _, err := indexing.Index(s.t.Context(), indexing.Options{
			Config: s.config, Log: slog.New(slog.DiscardHandler), Add: name,
			Build: store.BuildOptions{Progress: func(store.Progress) {}}}); err != nil {
			return err
		}
	}
	return nil
}

// TestAHeadSearchesItsOwnersVectors: a DESIRE-ME expert is added without encoding
// anything, is asked beside its base in one run, and says how likely each domain is.
// Its base cannot be taken out.
func TestAHeadSearchesItsOwnersVectors(t *testing.T) {
	s := newSite(t, nil)
	s.importGolden("base", "desire-me")
	var missing *experts.NoBaseError
	if err := s.index("desire-me"); !errors.As(err, &missing) {
		t.Errorf("without its base: %v", err)
	}
	for _, name := range []string{"base", "desire-me"} {
		if err := s.index(name); err != nil {
			t.Fatal(err)
		}
	}
	s.verify(3)
	a, err := assembly.Open(assembly.Options{Config: s.config, Log: slog.New(slog.DiscardHandler)})
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
	if prints["base"] == prints["desire-me"] || all[1].Fingerprints()[learned.FingerprintRun] != prints["base"] {
		t.Errorf("fingerprints %v", prints)
	}
	const question = "what keeps rice"
	answer, err := a.Engine.Search(
		t.Context(), search.Caller{},
		search.Request{Question: question, Fusion: search.Methods{Names: []string{"sum"}}},
	)
	if err != nil || len(answer.Degraded) != 0 || len(answer.Results) != 3 {
		t.Fatalf("%+v, %v", answer, err)
	}
	for i, owner := range []string{"", "base"} {
		if info := a.Engine.Experts()[i]; info.Owner != owner || info.Rows != 3 || info.Parts {
			t.Errorf("%+v", info)
		}
	}
	for _, source := range answer.Sources {
		if (source.Name == "desire-me") != (len(source.Domains) == 3) {
			t.Errorf("%s: domains %v", source.Name, source.Domains)
		}
	}
	if runs := all[0].Encoder.Stats().QuestionRows; runs != 1 {
		t.Errorf("%d encoder runs for one question", runs)
	}
	if err := folder.RemoveExpert(t.Context(), s.config.Collection, "base"); !errors.Is(err, folder.ErrIsOwner) {
		t.Errorf("taking the base out: %v", err)
	}
}

// TestADamagedHead: an expert without vectors of its own, whose bundle is damaged, is
// left out, and passages are written all the same. Its owner cannot be removed before it.
func TestADamagedHead(t *testing.T) {
	site := newSite(t, nil)
	site.importGolden("base", "desire-me")
	for _, name := range []string{"base", "desire-me"} {
		if err := site.index(name); err != nil {
			t.Fatal(err)
		}
	}
	site.flip("experts/desire-me/*.onnx", func(size int) int { return size / 2 })
	s := site.serve()
	if reported := s.warnings("expert desire-me"); !containsAll(reported, "is left out", "onnx") {
		t.Errorf("/readyz says %q", reported)
	}
	s.call(http.MethodPut, "/v1/passages/new?refresh=wait", `{"text":"A zebra."}`, http.StatusCreated, nil)
	if ids := s.find("what keeps rice", "base"); !same(ids, "1", "2", "3", "new") {
		t.Errorf("%v", ids)
	}
	var p schema.Problem
	if s.call(http.MethodDelete, "/v1/admin/experts/base", "", http.StatusConflict, &p); p.Code != "expert_in_use" ||
		!containsAll(p.Detail, "desire-me", "base") {
		t.Errorf("%+v", p)
	}
	s.done(s.call(http.MethodDelete, "/v1/admin/experts/desire-me", "", http.StatusAccepted, nil))
	s.done(s.call(http.MethodDelete, "/v1/admin/experts/base", "", http.StatusAccepted, nil))
	s.end()
	site.verify(4)
}

// TestAHeadThatIsNotNamed: the vectors of an expert without its own are not missed where
// the configuration does not name it.
func TestAHeadThatIsNotNamed(t *testing.T) {
	site := newSite(t, nil)
	site.importGolden("base", "desire-me")
	if err := site.index("base", "desire-me"); err != nil {
		t.Fatal(err)
	}
	site.flip("experts/desire-me/*.onnx", func(size int) int { return size / 2 })
	site.config.Experts = []configs.Expert{{Name: "base"}}
	s := site.serve()
	s.call(http.MethodPut, "/v1/passages/new?refresh=wait", `{"text":"A zebra."}`, http.StatusCreated, nil)
	if ids := s.find("what keeps rice", "base"); len(ids) != 4 {
		t.Errorf("%v", ids)
	}
}

// ownedBy is an expert as another process has it, which finds passages by the vectors of owner; "":
// by its own.
type ownedBy struct {
	*experts.Expert
	owner string
}

func (o ownedBy) Owner() string { return o.owner }

// TestAHeadThatJoins: a server asks an expert that joins it with the encoder of the owner
// that was recorded, though another of the same weights is loaded.
func TestAHeadThatJoins(t *testing.T) {
	site := newSite(t, nil)
	site.importGolden("base", "twin", "desire-me")
	if err := site.index("base"); err != nil {
		t.Fatal(err)
	}
	site.config.ReadOnly = true
	s := site.serve()
	twin, err := s.assembly.Experts.LoadMore("twin")
	if err != nil {
		t.Fatal(err)
	}
	head, err := s.assembly.Experts.LoadMore("desire-me")
	if err != nil {
		t.Fatal(err)
	}
	// Another process adds them, which has no base but the twin.
	for _, e := range []store.PassageEncoder{ownedBy{twin, ""}, ownedBy{head, "twin"}} {
		if _, err := folder.AddExpert(t.Context(), site.config.Collection, e, store.BuildOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.mu.Lock()
	if err := errors.Join(s.assembly.Experts.CloseUnused(head), s.assembly.Experts.CloseUnused(twin)); err != nil {
		t.Error(err)
	}
	s.mu.Unlock()
	s.until(
		"the experts do not join",
		func() bool { return slices.Equal(s.experts(), []string{"base", "twin", "desire-me"}) },
	)
	s.mu.Lock()
	defer s.mu.Unlock()
	if owner := s.assembly.Experts.Named("desire-me").Owner(); owner != "twin" {
		t.Errorf("the owner is %q", owner)
	}
}

// TestAHeadLeavesWithItsOwner: where both leave in one generation, the head goes first, so
// that the encoder that it shares with its owner is closed.
func TestAHeadLeavesWithItsOwner(t *testing.T) {
	site := newSite(t, nil)
	site.importGolden("base", "desire-me")
	if err := site.index("base", "desire-me"); err != nil {
		t.Fatal(err)
	}
	site.config.ReadOnly = true
	s := site.serve()
	shared := s.searchedExperts()[0].Encoder
	for _, name := range []string{"desire-me", "base"} {
		if err := folder.RemoveExpert(t.Context(), site.config.Collection, name); err != nil {
			t.Fatal(err)
		}
	}
	s.until("the experts do not leave", func() bool { return len(s.searchedExperts()) == 0 })
	asked := 0
	s.until("the shared encoder stays open", func() bool {
		asked++ // a closed encoder still gives the vectors that it remembers, so that no two questions have the same tokens
		_, err := shared.EncodeQuestion(
			t.Context(), strings.NewReplacer("0", " what", "1", " rice").Replace(fmt.Sprintf("%b", asked)),
		)
		return errors.Is(err, batcher.ErrClosed)
	})
	s.end()
}
