package server

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.org/conclave/internal/indexing"
	"example.org/conclave/internal/testing/tinyexperts"
	"example.org/conclave/models/convert"
	"example.org/conclave/search"
	"example.org/conclave/store"
)

// importQuestioner makes a bundle whose passages are encoded as the tiny base encodes them,
// and whose questions by other weights: some of the last bytes of the checkpoint differ.
func (s *site) importQuestioner(name string) {
	s.t.Helper()
	base := tinyexperts.Golden(s.t, "base")
	question := filepath.Join(s.t.TempDir(), "question")
	if err := os.CopyFS(question, os.DirFS(base)); err != nil {
		s.t.Fatal(err)
	}
	weights := filepath.Join(question, "model.safetensors")
	data, err := os.ReadFile(weights)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 1; i <= 200; i++ {
		data[len(data)-4*i] ^= 0x55 // a low byte of a little-endian number: it stays finite
		data[len(data)-4*i+1] ^= 0x55
		data[len(data)-4*i+2] ^= 0x15
	}
	if err := os.WriteFile(weights, data, 0o600); err != nil {
		s.t.Fatal(err)
	}
	o := convert.Options{Name: name, PassageDir: base}
	if _, err := convert.Import(s.t.Context(), question, filepath.Join(s.config.Bundles, name), o); err != nil {
		s.t.Fatal(err)
	}
}

// TestTheSamePassageEncoderEncodesOnce: an expert that differs from another in the question's
// side alone is added without encoding a passage, searches the other's vectors by its own
// questions, after a restart and for passages that are written later, and the other cannot be
// taken out before it.
func TestTheSamePassageEncoderEncodesOnce(t *testing.T) {
	site := newSite(t, nil)
	site.importGolden("base")
	site.importQuestioner("asking")
	if err := site.index("base"); err != nil {
		t.Fatal(err)
	}
	var passes []int
	_, err := indexing.Index(t.Context(), indexing.Options{
		Config: site.config, Log: slog.New(slog.DiscardHandler), Add: "asking",
		Build: store.BuildOptions{Progress: func(p store.Progress) {
			if p.Stage == store.Encoding {
				t.Errorf("passages are encoded: %+v", p)
			}
		}},
		Estimated: func(_ int64, choices []indexing.Choice, err error) {
			if err != nil {
				t.Error(err)
			}
			for _, c := range choices {
				passes = append(passes, c.Passes)
			}
		},
	})
	if err != nil || !slices.Equal(passes, []int{0}) {
		t.Fatalf("%d passes, %v", passes, err)
	}
	site.verify(3)
	s := site.serve()
	a := s.assembly
	all := a.Experts.All()
	if len(all) != 2 || all[1].Owner() != "base" || all[1].Encoder == all[0].Encoder {
		t.Fatalf("%+v", all)
	}
	prints := a.Experts.Fingerprints()
	if prints["base"] == prints["asking"] || all[0].Fingerprint() != all[1].Fingerprint() {
		t.Errorf("fingerprints %v", prints)
	}
	scores := map[string]float64{}
	for _, x := range []string{"base", "asking"} {
		answer, err := a.Engine.Search(
			t.Context(), search.Caller{}, search.Request{Question: "who hid the lamp", Experts: &[]string{x}},
		)
		if err != nil || len(answer.Results) == 0 {
			t.Fatalf("%s: %+v, %v", x, answer, err)
		}
		scores[x] = answer.Results[0].Score
	}
	if scores["base"] == scores["asking"] {
		t.Errorf("both questions have the same vector: %v", scores)
	}
	s.call(http.MethodPut, "/v1/passages/new?refresh=wait", `{"text":"A zebra."}`, http.StatusCreated, nil)
	if ids := s.find("who hid the lamp", "asking"); !same(ids, "1", "2", "3", "new") {
		t.Errorf("%v", ids)
	}
	s.call(http.MethodDelete, "/v1/admin/experts/base", "", http.StatusConflict, nil)
	s.done(s.call(http.MethodDelete, "/v1/admin/experts/asking", "", http.StatusAccepted, nil))
	s.done(s.call(http.MethodPost, "/v1/admin/experts", `{"name":"asking"}`, http.StatusAccepted, nil))
	if all := s.assembly.Experts.All(); len(all) != 2 || all[1].Owner() != "base" {
		t.Errorf("added to what is served: %+v", all)
	}
	s.end()
	site.verify(4)
}
