package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/indexing"
	"example.org/conclave/internal/keeping"
	"example.org/conclave/models"
	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// Texts whose language is clear.
const (
	germanHours  = "Die Bibliothek öffnet montags bis freitags um neun Uhr und schließt am Abend um achtzehn Uhr."
	englishHours = "The library opens at nine in the morning from Monday to Friday, and closes at six in the evening."
	germanLamp   = "Der Wächter des Leuchtturms versteckte die Lampe unter seinem Mantel, als der Sturm vom Meer herüberkam."
	englishLamp  = "The keeper of the lighthouse hid the lamp under his coat when the storm came over from the sea."
)

// bilingual are experts for English, and one for many languages.
var bilingual = []tiny.Expert{
	{Name: "base", Languages: []string{"en"}}, {Name: "late", Late: 8, Languages: []string{"en"}},
	{Name: "many", Languages: []string{models.ManyLanguages}},
}

// indexTexts indexes texts with all experts of bilingual into the site's collection c, which it makes: their ids are
// their places.
func (s *site) indexTexts(texts ...string) {
	s.t.Helper()
	s.config.Collection = filepath.Join(s.dir, "texts")
	var lines strings.Builder
	for i, text := range texts {
		_, _ = fmt.Fprintf(&lines, `{"id":"%d","text":%q}`+"\n", i, text)
	}
	_, err := indexing.Index(s.t.Context(), indexing.Options{
		Config: s.config, Log: slog.New(slog.DiscardHandler), Experts: "base,late,many",
		Inputs: []corpus.Input{{Path: "-", Stdin: strings.NewReader(lines.String())}},
		Build:  store.BuildOptions{Progress: func(store.Progress) {}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// checkLanguages checks, for passages of the collection in a folder, what their metadata say of their language, and
// that experts for English have no vector of those in German, and the one for many languages has one of all.
func (s *site) checkLanguages(dir string, want map[string]string) {
	s.t.Helper()
	c, err := folder.Open(dir)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	g := c.Acquire()
	defer g.Release()
	for id, code := range want {
		ordinal, there, err := g.Ordinal(id)
		if err != nil || !there {
			s.t.Fatalf("%s is not there: %v", id, err)
		}
		p, err := g.Passage(ordinal)
		if err != nil || corpus.LanguageOf(&p) != code {
			s.t.Errorf("%s is in %q, want %q, %v", id, corpus.LanguageOf(&p), code, err)
		}
		for _, name := range []string{"base", "late", "many"} {
			x, ok := g.Expert(name)
			if !ok {
				continue
			}
			v, err := x.Vector(ordinal)
			if has := name == "many" || code != "de"; err != nil || len(v) > 0 != has {
				s.t.Errorf("%s in %q has %d numbers of %s, %v", id, code, len(v), name, err)
			}
		}
	}
}

// TestLanguagesAreTold: what is written to a served collection in several languages says in which it is, whichever way
// it comes, and is left to the experts that read it; what somebody wrote stays. In a collection in one language nothing
// is told.
func TestLanguagesAreTold(t *testing.T) {
	site := newSite(t, bilingual, "base")
	site.indexTexts(germanHours, englishHours)
	site.config.Documents.Look = 30 * time.Millisecond
	site.watch = []string{filepath.Join(site.dir, "files")}
	site.write("files/wache.txt", germanLamp+" Niemand sah es.")
	s := site.serve()
	for id, text := range map[string]string{"de.txt": germanLamp, "en.txt": englishLamp} {
		request, err := http.NewRequest(http.MethodPut, s.url+"/v1/documents/"+id+"?refresh=wait", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "text/plain")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusCreated {
			t.Fatal(id, response.Status)
		}
	}
	s.call(http.MethodPost, "/v1/passages?refresh=wait", fmt.Sprintf(
		`{"id":"p","text":%q}`+"\n"+`{"id":"q","text":%q,"metadata":{"lang":"gsw"}}`+"\n"+`{"id":"r","text":"E23"}`+"\n",
		germanLamp, germanLamp), http.StatusOK, nil)
	s.call(http.MethodPut, "/v1/passages/o?refresh=wait", fmt.Sprintf(`{"text":%q}`, germanLamp), http.StatusCreated, nil)
	var p corpus.Passage
	s.call(http.MethodGet, "/v1/passages/de.txt%231", "", http.StatusOK, &p)
	if corpus.LanguageOf(&p) != "de" {
		t.Errorf("the server answers %+v", p)
	}
	s.call(http.MethodPut, "/v1/passages/o?refresh=wait", fmt.Sprintf(`{"text":%q}`, englishLamp), http.StatusOK, nil)
	for _, code := range []string{"de", "en"} { // the same text, which others encode then
		body := fmt.Sprintf(`{"text":%q,"metadata":{"lang":%q}}`, germanLamp, code)
		s.call(http.MethodPut, "/v1/passages/s?refresh=wait", body,
			map[string]int{"de": http.StatusCreated, "en": http.StatusOK}[code], nil)
	}
	s.until("a followed file", func() bool {
		var d struct{ Documents []corpus.Document }
		s.call(http.MethodGet, "/v1/documents", "", http.StatusOK, &d)
		return len(d.Documents) == 3
	})
	s.end()
	site.checkLanguages(site.config.Collection, map[string]string{
		"0": "de", "1": "en", "de.txt#1": "de", "en.txt#1": "en", "p": "de", "q": "gsw", "r": "", "o": "en", "s": "en",
		"wache.txt#1": "de",
	})
	site.verify(10)

	site.config.Collection = filepath.Join(site.dir, "c") // three passages in English
	site.watch = nil
	s = site.serve()
	s.call(http.MethodPut, "/v1/passages/d?refresh=wait", fmt.Sprintf(`{"text":%q}`, englishLamp), http.StatusCreated, nil)
	s.end()
	site.checkLanguages(site.config.Collection, map[string]string{"1": "", "d": ""})
}

// TestLanguagesOfNewCollection: a collection that is made for several languages tells them from the first passage on,
// and no other ones; not if lang is a field of another kind.
func TestLanguagesOfNewCollection(t *testing.T) {
	site := newSite(t, bilingual)
	site.config.Data = filepath.Join(site.dir, "data")
	s := site.serve()
	s.create(`{"name":"both","experts":["base","many"],"languages":["de","en"]}`)
	s.create(`{"name":"numbers","experts":["base","many"],"languages":["de","en"],"fields":{"lang":"number"}}`)
	for _, name := range []string{"both", "numbers"} {
		s.add(name, "d", germanLamp)
		s.add(name, "f", "La bibliothèque ouvre ses portes du lundi au vendredi à neuf heures et ferme le soir à dix-huit heures.")
	}
	s.end()
	site.checkLanguages(filepath.Join(site.config.Data, "both"), map[string]string{"d": "de", "f": ""})
	site.checkLanguages(filepath.Join(site.config.Data, "numbers"), map[string]string{"d": "", "f": ""})
}

// TestSyncTellsLanguages: documents that come by a Sync say in which language they are, and passages that are added to
// the collection.
func TestSyncTellsLanguages(t *testing.T) {
	site := newSite(t, bilingual)
	site.indexTexts(germanHours, englishHours)
	site.write("files/de.txt", germanLamp)
	site.write("files/en.txt", englishLamp)
	sync := func(want string) {
		t.Helper()
		done, err := Sync(context.Background(), SyncRequest{
			Config: site.config, Log: slog.New(slog.DiscardHandler),
			Sync: keeping.SyncOptions{Roots: []string{filepath.Join(site.dir, "files")}},
		})
		if got := fmt.Sprint(done.Added, done.Replaced, done.Unchanged); err != nil || got != want {
			t.Fatalf("%s, want %s, %v", got, want, err)
		}
	}
	sync("2 0 0")
	sync("0 0 2")
	site.checkLanguages(site.config.Collection, map[string]string{"de.txt#1": "de", "en.txt#1": "en"})
	site.write("files/de.txt", germanLamp+" Am Morgen brannte sie wieder.")
	sync("0 1 1")
	more := fmt.Sprintf(`{"id":"more","text":%q}`+"\n", germanLamp)
	_, err := indexing.Index(t.Context(), indexing.Options{
		Config: site.config, Log: slog.New(slog.DiscardHandler),
		Inputs: []corpus.Input{{Path: "-", Stdin: strings.NewReader(more)}},
		Build:  store.BuildOptions{Progress: func(store.Progress) {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	site.checkLanguages(site.config.Collection, map[string]string{"de.txt#1": "de", "en.txt#1": "en", "more": "de"})
}
