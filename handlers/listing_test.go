package handlers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/store/folder"
)

// TestListing: pages hold every passage of a collection of several segments, in
// the order of ids, without those that were deleted.
func TestListing(t *testing.T) {
	s := startWriting(t, writingOptions{live: folder.LiveOptions{FlushAfter: time.Millisecond}})
	want := []string{"seed0", "seed1", "seed2"}
	for round := range 4 {
		var body strings.Builder
		for i := range 10 {
			id := fmt.Sprintf("p/%d é", (7*i+round*10)%40)
			want = append(want, id)
			fmt.Fprintf(&body, "{\"id\":%q,\"text\":\"zebra\"}\n", id)
		}
		if r, _, _ := s.upload("/v1/passages?refresh=wait", body.String()); r.StatusCode != http.StatusOK {
			t.Fatal(r.StatusCode)
		}
	}
	slices.Sort(want)
	want = slices.Compact(want)
	gone := want[5]
	if r := s.send(http.MethodDelete, "/v1/passages/"+url.PathEscape(gone)+"?refresh=wait",
		""); r.StatusCode != http.StatusOK {
		t.Fatal(r.StatusCode)
	}
	want = slices.DeleteFunc(want, func(id string) bool { return id == gone })
	for _, limit := range []int{1, 7, 1000} {
		var got []string
		for after := ""; ; {
			r := s.send(http.MethodGet, fmt.Sprintf("/v1/passages?limit=%d&after=%s", limit, url.QueryEscape(after)), "")
			var list PassageList
			if err := json.Unmarshal(r.body, &list); err != nil || r.StatusCode != http.StatusOK {
				t.Fatalf("%d %s", r.StatusCode, r.body)
			}
			for _, p := range list.Passages {
				got = append(got, p.ID)
			}
			after = list.Next
			if after == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d at a time: %v\nwant %v", limit, got, want)
		}
	}
	for query, code := range map[string]string{"limit=0": "out_of_range", "limit=x": "wrong_type", "limit=1001": "out_of_range", "k=3": "unknown_parameter", "limit=1&limit=2": "repeated_parameter", "after=%ff": "invalid_utf8"} {
		if p := s.send(http.MethodGet, "/v1/passages?"+query, "").problem(t); p.Code != code {
			t.Errorf("%s: %s", query, p.Code)
		}
	}
	metrics := string(s.send(http.MethodGet, "/metrics", "").body)
	if !strings.Contains(metrics, `conclave_jobs{state="queued"} 0`) {
		t.Errorf("no jobs in %.2000s", metrics)
	}
}

// TestListingOfACutFile: a file that is cut while the server has it mapped is
// answered with a problem, and ends nothing.
func TestListingOfACutFile(t *testing.T) {
	s := startWriting(t, writingOptions{})
	if r := s.send(http.MethodGet, "/v1/passages", ""); r.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	files, err := filepath.Glob(filepath.Join(s.dir, "seg-*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if err := os.Truncate(file, 0); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if r := s.send(http.MethodGet, "/v1/passages", ""); r.StatusCode != http.StatusServiceUnavailable ||
			r.problem(t).Code != "unavailable" {
			t.Errorf("%d %s", r.StatusCode, r.body)
		}
	}
}
