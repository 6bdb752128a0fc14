package opensearch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	testcluster "example.org/conclave/internal/testing/cluster"
	"example.org/conclave/search/storage"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
	embedded "example.org/conclave/store/folder/view"
	"example.org/conclave/store/opensearch/schema"
)

// TestBackup: a snapshot by the cluster's own means, taken while a server writes, has everything
// that was acknowledged before it; restored after the index was deleted, and beside it under
// another name, it has the same passages with the same vectors, and what the registers had.
func TestBackup(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, 3)
	client := testClient(t)
	index := testIndex(t, client, "backup")
	options := store.BuildOptions{
		Words:   bm25.Params{K1: 0.9, B: 0.4, Phrases: true},
		Experts: []store.PassageEncoder{hashed{name: "base"}, hashed{name: "tokens", late: true}},
	}
	given := passages(31, 40)
	if _, err := Build(t.Context(), client, index, schema.Shape{Shards: 2, Replicas: 1}, &list{passages: given}, options,
		"temperature: 1\n"); err != nil {
		t.Fatal(err)
	}
	target, err := Open(t.Context(), client, index)
	if err != nil {
		t.Fatal(err)
	}
	if _, done, err := target.Register("jobs").Write(t.Context(), []byte(`["one"]`), ""); err != nil || !done {
		t.Fatal(done, err)
	}
	ask := func(method, path string, body object) {
		t.Helper()
		text, err := json.Marshal(body)
		if err == nil {
			_, err = client.Do(t.Context(), method, path, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	repository := "/_snapshot/" + index
	ask("PUT", repository, object{"type": "fs", "settings": object{"location": filepath.Join(c.Snapshots(), index)}})

	writer, err := NewWriter(target, options.Experts, nil)
	if err != nil {
		t.Fatal(err)
	}
	writing, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		for i := 0; ; i++ {
			p := corpus.Passage{ID: fmt.Sprintf("later-%d", i), Text: "written meanwhile"}
			if _, err := writer.Apply(writing, []store.Change{{Put: &p}}); err != nil {
				if writing.Err() != nil {
					err = nil
				}
				ended <- err
				return
			}
		}
	}()
	ask("PUT", repository+"/first?wait_for_completion=true",
		object{"indices": index + "," + index + stateSuffix, "include_global_state": false})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}

	was := stateOf(t, target, given)
	ask("DELETE", "/"+index+","+index+stateSuffix, nil)
	if _, err := Open(t.Context(), client, index); !errors.Is(err, ErrNoIndex) {
		t.Fatalf("%v", err)
	}
	restore := repository + "/first/_restore?wait_for_completion=true"
	ask("POST", restore, object{"indices": index + "," + index + stateSuffix, "include_global_state": false})
	other := testIndex(t, client, "backup-other")
	ask("POST", restore, object{"indices": index, "include_global_state": false, "include_aliases": false,
		"rename_pattern": ".+", "rename_replacement": other})
	for _, name := range []string{index, other} {
		restored, err := Open(t.Context(), client, name)
		if err != nil {
			t.Fatal(err)
		}
		if is := stateOf(t, restored, given); is != was {
			t.Errorf("%s: other passages or vectors than before", name)
		}
		if m := restored.Manifest(); m.Calibration != "temperature: 1\n" || m.ID != target.Manifest().ID {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if data, _, err := target.Register("jobs").Read(t.Context()); err != nil || string(data) != `["one"]` {
		t.Errorf("the register has %s, %v", data, err)
	}
}

// TestExportPassages: what is exported of a store is what is exported of the same passages in a
// folder, to the byte.
func TestExportPassages(t *testing.T) {
	t.Parallel()
	given := passages(32, 300)
	far, _ := both(t, "exported", given, hashed{name: "base"})
	var got, want bytes.Buffer
	if err := far.(*Corpus).ExportPassages(t.Context(), &got, storage.Filter{}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() + "/folder"
	if _, err := folder.Build(t.Context(), dir, &list{passages: given}, store.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	g := collectionIn(t, dir).Acquire()
	defer g.Release()
	all, err := g.Select(nil, nil)
	if err == nil {
		err = g.ExportPassages(t.Context(), &want, all)
	}
	if err != nil {
		t.Fatal(err)
	}
	f := storage.Filter{TagsAny: given[0].Tags, Where: conditions.Node{Op: conditions.Not, Nodes: []conditions.Node{
		{Op: conditions.HasField, Field: "nowhere"}}}}
	var some, ofFolder bytes.Buffer
	if err := far.(*Corpus).ExportPassages(t.Context(), &some, f); err != nil {
		t.Fatal(err)
	}
	selected, err := embedded.Selected(g, f)
	if err == nil {
		err = g.ExportPassages(t.Context(), &ofFolder, selected)
	}
	if n := bytes.Count(some.Bytes(), []byte("\n")); err != nil || n == 0 || n == len(given) ||
		!bytes.Equal(some.Bytes(), ofFolder.Bytes()) {
		t.Errorf("%d lines, %v: those of the store differ", n, err)
	}
	if n := bytes.Count(want.Bytes(), []byte("\n")); n != len(given) || !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("%d lines, and those of the store differ", n)
	}
}

// stateOf returns some passages of a store with all that it has of them; each has to be there.
func stateOf(t *testing.T, s *Store, of []corpus.Passage) string {
	t.Helper()
	there := map[string]bool{}
	scan, err := s.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = scan.Close() }()
	for {
		p, err := scan.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		there[p.ID+p.Version()] = true
	}
	out := ""
	for _, p := range of {
		if !there[p.ID+p.Version()] {
			t.Errorf("passage %q is missing", p.ID)
		}
	}
	for _, e := range s.Encoders() {
		vectors, err := e.EncodePassages(t.Context(), of)
		if err != nil {
			t.Fatal(err)
		}
		out += fmt.Sprint(e.Name(), vectors)
	}
	return out
}
