package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"example.org/conclave/handlers"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// herd writes n passages, herd/0 to herd/n-1. Every third has the tag old, every second the tag wild.
func (s *served) herd(n int) {
	s.t.Helper()
	var lines strings.Builder
	for i := range n {
		var tags []string
		if i%3 == 0 {
			tags = append(tags, `"old"`)
		}
		if i%2 == 0 {
			tags = append(tags, `"wild"`)
		}
		fmt.Fprintf(
			&lines,
			"{\"id\":\"herd/%d\",\"text\":\"Number %d of the herd of zebra.\",\"tags\":[%s]}\n",
			i,
			i,
			strings.Join(tags, ","),
		)
	}
	s.call(http.MethodPost, "/v1/passages", lines.String(), http.StatusOK, nil)
}

// ids returns the set of the ids of all passages.
func (s *served) ids() map[string]bool {
	s.t.Helper()
	out := map[string]bool{}
	for after := ""; ; {
		var page handlers.PassageList
		s.call(http.MethodGet, "/v1/passages?limit=1000&after="+after, "", http.StatusOK, &page)
		for _, p := range page.Passages {
			out[p.ID] = true
		}
		after = page.Next
		if after == "" {
			return out
		}
	}
}

// left checks that of the n passages of herd exactly those remain for which keep returns true, and that the three
// passages written before are there.
func (s *served) left(n int, keep func(i int) bool) {
	s.t.Helper()
	ids := s.ids()
	want := 3
	for i := range n {
		if keep(i) {
			want++
		}
		if ids[fmt.Sprint("herd/", i)] != keep(i) {
			s.t.Fatalf("herd/%d is there: %v", i, !keep(i))
		}
	}
	if len(ids) != want {
		s.t.Fatalf("%d passages are left, want %d", len(ids), want)
	}
}

// TestDeleteTagged: what has the tags goes, written a moment ago or long ago,
// and the others stay.
func TestDeleteTagged(t *testing.T) {
	site := newSite(t, nil)
	s := site.serve()
	const n = 2500
	s.herd(n)
	// Nobody waited: much of it lies in the log alone.
	j := s.job(s.call(http.MethodDelete, "/v1/passages?tags_all=old,wild", "", http.StatusAccepted, nil))
	if j.State != jobs.Done || j.Result.Deleted == nil || *j.Result.Deleted != 417 || j.Result.Passages != 3+n-417 ||
		j.Result.Generation == 0 {
		t.Fatalf("%+v %+v", j, j.Result)
	}
	s.left(n, func(i int) bool { return i%6 != 0 })
	j = s.job(s.call(http.MethodDelete, "/v1/passages?tags_any=old,wild,nobody's", "", http.StatusAccepted, nil))
	if j.State != jobs.Done || *j.Result.Deleted != 834+1250-2*417 {
		t.Fatalf("%+v %+v", j, j.Result)
	}
	s.left(n, func(i int) bool { return i%2 != 0 && i%3 != 0 })
	for _, query := range []string{"tags_any=nobody's", "tags_any=old,wild"} {
		j = s.job(s.call(http.MethodDelete, "/v1/passages?"+query, "", http.StatusAccepted, nil))
		if j.State != jobs.Done || *j.Result.Deleted != 0 {
			t.Errorf("%s: %+v %+v", query, j, j.Result)
		}
	}
	s.end()
	site.verify(3 + 833 - 417 + 417)
}

// TestDeleteTaggedAgain: a job that a kill interrupted when it had deleted a part
// is ended by the next server, and tells of that part too. A record without tags
// deletes nothing.
func TestDeleteTaggedAgain(t *testing.T) {
	site := newSite(t, nil)
	s := site.serve()
	const n = 1200
	s.herd(n)
	for i := range 10 { // as the job has, before the kill
		s.call(http.MethodDelete, fmt.Sprintf("/v1/passages/herd%%2F%d", 3*i), "", http.StatusOK, nil)
	}
	s.end()
	begun := time.Now().UTC().Format(time.RFC3339)
	site.write(
		"c/jobs/1.json",
		`{"id":"1","kind":"delete_passages","name":"tags_any=old","tags_any":["old"],"state":"running","created":"`+begun+`","attempts":1}`,
	)
	site.write("c/jobs/1.work", "400")
	site.write(
		"c/jobs/2.json",
		`{"id":"2","kind":"delete_passages","name":"","state":"queued","created":"`+begun+`","attempts":0}`,
	)
	s = site.serve()
	if j := s.job(http.Header{"Location": {"/v1/jobs/1"}}); j.State != jobs.Done || j.Attempts != 2 ||
		*j.Result.Deleted != 400 {
		t.Errorf("%+v %+v", j, j.Result)
	}
	if j := s.job(http.Header{"Location": {"/v1/jobs/2"}}); j.State != jobs.Failed {
		t.Errorf("without tags: %+v", j)
	}
	s.left(n, func(i int) bool { return i%3 != 0 })
}

// TestDeleteTaggedInterrupted: servers that end while a job deletes, wherever it
// is, leave it to the next one, and none counts twice.
func TestDeleteTaggedInterrupted(t *testing.T) {
	site := newSite(t, nil)
	s := site.serve()
	const n = 12000
	s.herd(n)
	location := s.call(http.MethodDelete, "/v1/passages?tags_any=old", "", http.StatusAccepted, nil)
	for range 50 {
		var j jobs.Job
		s.call(http.MethodGet, location.Get("Location"), "", http.StatusOK, &j)
		if j.State.Ended() || j.Progress != nil && j.Progress.Stage == "deleting" && j.Progress.Done > 0 {
			t.Logf("ended at %s %+v", j.State, j.Progress)
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	s.end()
	s = site.serve()
	if j := s.job(location); j.State != jobs.Done || *j.Result.Deleted != n/3 {
		t.Errorf("%+v %+v", j, j.Result)
	} else {
		t.Logf("%d attempts", j.Attempts)
	}
	s.left(n, func(i int) bool { return i%3 != 0 })
}

// dots are passages that an earlier version stored, with ids that are refused today.
type dots struct{ left []string }

// Next implements corpus.Stream: it returns a passage for each of the ids in d.left.
func (d *dots) Next() (p corpus.Passage, err error) {
	if len(d.left) == 0 {
		return p, io.EOF
	}
	p = corpus.Passage{ID: d.left[0], Text: "Zebra " + d.left[0]}
	d.left = d.left[1:]
	return p, nil
}

func (d *dots) Place() corpus.Place           { return corpus.Place{} }
func (d *dots) Progress() (done, total int64) { return -1, -1 }

// TestDeleteByIDs: ids name passages that have no tags, also . and .., which are refused
// today and which clients take out of an address.
func TestDeleteByIDs(t *testing.T) {
	site := newSite(t, nil)
	site.config.Collection += "-of-an-earlier-version"
	if _, err := folder.Build(t.Context(), site.config.Collection, &dots{[]string{".", "..", "a", "b"}},
		store.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	site.verify(4)
	s := site.serve()
	for _, id := range []string{".", ".."} {
		raw, err := http.Post(
			s.url+"/v1/passages",
			"application/x-ndjson",
			strings.NewReader(fmt.Sprintf(`{"id":%q,"text":"Zebra"}`, id)),
		)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(raw.Body)
		if err := errors.Join(err, raw.Body.Close()); err != nil || raw.StatusCode != http.StatusUnprocessableEntity ||
			!strings.Contains(string(body), "another id") {
			t.Errorf("%q: status %d, %s, %v", id, raw.StatusCode, body, err)
		}
	}
	j := s.job(s.call(http.MethodDelete, "/v1/passages?ids=.,..,.,nobody", "", http.StatusAccepted, nil))
	if j.State != jobs.Done || j.Result.Deleted == nil || *j.Result.Deleted != 2 || j.Result.Passages != 2 {
		t.Fatalf("%+v %+v", j, j.Result)
	}
	if ids := s.ids(); len(ids) != 2 || !ids["a"] || !ids["b"] {
		t.Errorf("%v are left", ids)
	}
	s.end()
	site.verify(2)
}

// TestDeleteByCondition: what meets a condition is deleted, with what was acknowledged a moment ago, in one generation:
// no search sees a part of it. A dry run says how many that will be, and deletes nothing.
func TestDeleteByCondition(t *testing.T) {
	const n = 2*deleteAtOnce + 100
	site := newSite(t, named("small"), "small")
	site.config.Ingest.FlushPassages = 500
	s := site.serve()
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, "{\"id\":\"herd/%d\",\"text\":\"zebra\",\"metadata\":{\"number\":%d}}\n", i, i)
	}
	s.call(http.MethodPost, "/v1/passages?refresh=wait", lines.String(), http.StatusOK, nil)
	// All but a hundred, so that a deletion in parts of a thousand would be seen.
	filter := "filter=" + url.QueryEscape(`{"field":"number","gte":100}`)
	var dry handlers.DryRun
	s.call(http.MethodDelete, "/v1/passages?dry_run=true&"+filter, "", http.StatusOK, &dry)
	if dry.Passages != n-100 {
		t.Errorf("%+v", dry)
	}
	s.left(n, func(int) bool { return true })
	count := "/v1/passages?dry_run=true&filter=" + url.QueryEscape(`{"field":"number","exists":true}`)
	header := s.call(http.MethodDelete, "/v1/passages?"+filter, "", http.StatusAccepted, nil)
	for ended := false; !ended; {
		var j jobs.Job
		s.call(http.MethodGet, header.Get("Location"), "", http.StatusOK, &j)
		ended = j.State.Ended()
		if s.call(http.MethodDelete, count, "", http.StatusOK, &dry); dry.Passages != n && dry.Passages != 100 {
			t.Fatalf("searches see %d of %d", dry.Passages, n)
		}
	}
	if j := s.done(header); *j.Result.Deleted != n-100 {
		t.Errorf("%+v", j.Result)
	}
	s.left(n, func(i int) bool { return i < 100 })
}
