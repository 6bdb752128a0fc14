package server

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.org/conclave/configs"
	"example.org/conclave/search/reply"
	"example.org/conclave/store/folder"
)

// TestExpertsComeAndGo adds an expert while searches and writes go on, and takes one
// out; a restart finds what there is.
func TestExpertsComeAndGo(t *testing.T) {
	site := newSite(t, named("first", "late"), "first")
	s := site.serve()
	stop, stopped := make(chan struct{}), make(chan int, 1)
	end := sync.OnceValue(func() int { close(stop); return <-stopped })
	t.Cleanup(func() { _ = end() }) // before the server ends
	go func() {                     // searches without a pause
		n := 0
		defer func() { stopped <- n }()
		for {
			select {
			case <-stop:
				return
			default:
			}
			response, err := http.Post(
				s.url+"/v1/search",
				"application/json",
				strings.NewReader(`{"question":"who hid the lamp","timeout_ms":10000}`),
			)
			if err != nil {
				t.Error(err)
				return
			}
			answer, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if response.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte(`"degraded":[]`)) {
				t.Errorf("%d %s", response.StatusCode, answer)
			}
			n++
		}
	}()
	s.call(http.MethodPost, "/v1/admin/experts", `{"name":"first"}`, http.StatusConflict, nil)
	s.call(http.MethodPost, "/v1/admin/experts", `{"name":"nobody"}`, http.StatusUnprocessableEntity, nil)
	s.call(http.MethodPost, "/v1/admin/experts", `{"name":"../late"}`, http.StatusUnprocessableEntity, nil)
	s.call(http.MethodDelete, "/v1/admin/experts/nobody", "", http.StatusNotFound, nil)

	accepted := s.call(http.MethodPost, "/v1/admin/experts", `{"name":"late"}`, http.StatusAccepted, nil)
	s.call(http.MethodPut, "/v1/passages/meanwhile", `{"text":"Written meanwhile."}`, http.StatusCreated, nil)
	if j := s.done(accepted); j.Result == nil || j.Result.Recall["recall@10"] < .95 || j.Result.Generation == 0 {
		t.Fatalf("%+v", j)
	}
	s.call(http.MethodPut, "/v1/passages/after?refresh=wait", `{"text":"Written after."}`, http.StatusCreated, nil)
	check := func(s *served, experts ...string) {
		t.Helper()
		for _, x := range experts {
			if ids := s.find("Written after.", x); !same(ids, "1", "2", "3", "after", "meanwhile") {
				t.Errorf("%s finds %v", x, ids)
			}
		}
		if names := s.experts(); !slices.Equal(names, experts) {
			t.Errorf("experts %v, want %v", names, experts)
		}
		var health struct {
			Components []struct{ Name, Detail string }
		}
		s.call(http.MethodGet, "/readyz", "", http.StatusOK, &health)
		if len(health.Components) != 1+len(experts) ||
			!containsAll(health.Components[0].Detail, "muf", "calibrating gives them none", strings.Join(experts, ", ")) {
			t.Errorf("components %+v", health)
		}
	}
	check(s, "first", "late")
	s.done(s.call(http.MethodDelete, "/v1/admin/experts/first", "", http.StatusAccepted, nil))
	check(s, "late")
	s.call(http.MethodPost, "/v1/search", `{"question":"x","experts":["first"]}`, http.StatusUnprocessableEntity, nil)
	if n := end(); n == 0 {
		t.Error("nobody searched meanwhile")
	}
	s.end()
	again := site.serve()
	check(again, "late")
	// Taken out for good, and added once more under the same name.
	again.done(
		again.call(http.MethodPost, "/v1/admin/experts", `{"name":"first","index":"flat"}`, http.StatusAccepted, nil),
	)
	check(again, "late", "first")
	again.end()
	site.verify(5)
}

// TestFirstExpert adds an expert to a collection of words alone, for which no runtime
// was loaded; the configuration then names experts, and not this one.
func TestFirstExpert(t *testing.T) {
	site := newSite(t, named("late", "other"))
	s := site.serve()
	s.done(s.call(http.MethodPost, "/v1/admin/experts", `{"name":"late"}`, http.StatusAccepted, nil))
	if ids := s.find("who hid the lamp", "late"); len(ids) != 3 {
		t.Errorf("%v", ids)
	}
	s.done(s.call(http.MethodPost, "/v1/admin/experts", `{"name":"other"}`, http.StatusAccepted, nil))
	s.end()
	site.config.Experts = []configs.Expert{{Name: "late"}}
	s = site.serve()
	s.call(http.MethodPut, "/v1/passages/4?refresh=wait", `{"text":"A fourth."}`, http.StatusCreated, nil)
	if ids := s.find("who hid the lamp", "late"); len(ids) != 4 {
		t.Errorf("%v", ids)
	}
	s.call(http.MethodPost, "/v1/search", `{"question":"x","experts":["other"]}`, http.StatusUnprocessableEntity, nil)
	if !strings.Contains(s.log.String(), "other") {
		t.Errorf("the log does not tell of the expert that is not searched:\n%s", s.log.String())
	}
	s.end()
	site.verify(4)
}

// TestReaderLetsExpertsGo: a server that only reads does not ask an expert that another
// process removed, and does not name one as absent that is gone.
func TestReaderLetsExpertsGo(t *testing.T) {
	site := newSite(t, named("base", "tales", "late"), "base", "tales", "late")
	site.flip("experts/tales/*.onnx", func(size int) int { return size / 2 })
	site.config.ReadOnly = true
	s := site.serve()
	if names := s.experts(); !slices.Equal(names, []string{"base", "late"}) {
		t.Errorf("the reader has %v", names)
	}
	for _, name := range []string{"tales", "late"} {
		if err := folder.RemoveExpert(t.Context(), site.config.Collection, name); err != nil {
			t.Fatal(err)
		}
	}
	s.until("the reader does not let experts go", func() bool {
		var r reply.Response
		s.call(http.MethodPost, "/v1/search", `{"question":"who hid the lamp"}`, http.StatusOK, &r)
		return len(r.Degraded) == 0 && slices.Equal(s.experts(), []string{"base"})
	})
	for _, name := range []string{"tales", "late"} {
		if reported := s.warnings("expert " + name); reported != "" {
			t.Errorf("/readyz still says %q", reported)
		}
	}
	s.find("who hid the lamp", "base")
}

// TestClosesAfterFailure: an Open that fails, wherever it does, leaves nothing open.
func TestClosesAfterFailure(t *testing.T) {
	site := newSite(t, named("base"), "base")
	dir := filepath.Join(site.config.Bundles, "base")
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	if _, err := site.open(); err == nil || !containsAll(err.Error(), "base") {
		t.Errorf("without a bundle: %v", err)
	}
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	site.write("c/calibration.yaml", "format: none\n")
	if _, err := site.open(); err == nil || !containsAll(err.Error(), "calibration.yaml") {
		t.Errorf("with a calibration that cannot be read: %v", err)
	}
	if err := os.Remove(filepath.Join(site.dir, "c/calibration.yaml")); err != nil {
		t.Fatal(err)
	}
	site.serve() // the lock is free
}
