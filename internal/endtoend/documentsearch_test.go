package endtoend

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/documents"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/reply"
)

// libraryOf returns documents of a few sections each, by their ids, and all their passages. Some
// ids are such that one might be taken for a passage of another, or for a pattern.
func libraryOf(t *testing.T) (texts map[string]string, passages []corpus.Passage) {
	texts = map[string]string{}
	for i, id := range []string{"x", "x#1", "X", "manual (v1.*) [ü]\\+?/a#b", "plain.md"} {
		var file strings.Builder
		fmt.Fprintf(&file, "# Book %d\n\n", i)
		for section := range 4 + i {
			fmt.Fprintf(&file, "## Section %d\n\nThe zebra of book %d crossed river %d. It “slept” 🦓 for %d days.\n\n",
				section, i, section, section+2)
		}
		text, cut := cutDocument(t, documents.About{ID: id, Tags: []string{fmt.Sprint("book", i)}}, file.String(), 12)
		texts[id] = text
		passages = append(passages, cut...)
	}
	passages = append(
		passages,
		corpus.Passage{ID: "alone", Text: "A zebra of no book slept beside the river for days."},
		corpus.Passage{ID: "#1", Text: "Another zebra of no book crossed."},
	)
	return texts, passages
}

// TestDocumentSearch: searches are restricted to documents, results are grouped by documents, and passages come with
// what stands around them. All is compared with what follows by hand from a plain search and from the documents' texts.
func TestDocumentSearch(t *testing.T) {
	texts, passages := libraryOf(t)
	s := newSite(t, patient, []string{"small"}, "small", jsonLines(t, passages))
	folder := s.serve("")
	checkDocumentSearch(t, folder, texts, passages)
	folder.stop()
}

// TestClusterDocumentSearch: in a cluster, what TestDocumentSearch asks of a folder is answered in the same way.
func TestClusterDocumentSearch(t *testing.T) {
	c := startCluster(t)
	texts, passages := libraryOf(t)
	s := newSite(t, patient, []string{"small"}, "small", jsonLines(t, passages))
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	store := "opensearch+" + c.URLs[0] + "/documents"
	s.command("export", "--collection", "c", "--to", store)
	stored := s.serve("", "--store", store)
	checkDocumentSearch(t, stored, texts, passages)
	stored.stop()
}

func checkDocumentSearch(t *testing.T, p *process, texts map[string]string, passages []corpus.Passage) {
	t.Helper()
	ask := func(more map[string]any) (got reply.Response) {
		t.Helper()
		request := map[string]any{"question": "which zebra crossed the river for days", "k": 100, "fusion": "rrf"}
		for name, value := range more {
			request[name] = value
		}
		body, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		p.get(http.MethodPost, "/v1/search", string(body), http.StatusOK, &got)
		return got
	}
	all := ask(map[string]any{"explain": true})
	if len(all.Results) != len(passages) {
		t.Fatalf("%d results of %d passages", len(all.Results), len(passages))
	}
	documentOf := map[string]string{}
	for _, p := range passages {
		if id, ok := p.Metadata["document"].(string); ok {
			documentOf[p.ID] = id
		}
	}

	for _, asked := range [][]string{{"x"}, {"x#1"}, {"X", "plain.md"}, {"manual (v1.*) [ü]\\+?/a#b"}, {"nothing"}, {"alone"}} {
		got := ask(map[string]any{"filter": map[string]any{"documents": asked}})
		var found, want []string
		for _, r := range got.Results {
			found = append(found, r.ID)
		}
		for id, document := range documentOf {
			if slices.Contains(asked, document) {
				want = append(want, id)
			}
		}
		if slices.Sort(found); !slices.Equal(found, sorted(want)) || got.Selected == nil || *got.Selected != len(want) {
			t.Errorf("of %q: %q, want %q", asked, found, want)
		}
	}
	both := ask(map[string]any{"filter": map[string]any{"documents": []string{"x", "X"}, "tags_any": []string{"book2"}}})
	for _, r := range both.Results {
		if documentOf[r.ID] != "X" {
			t.Errorf("of X: %s", r.ID)
		}
	}

	// Groups of what a filter lets through are those of the filtered ranking.
	for _, filter := range []map[string]any{
		{"documents": []string{"x", "X", "plain.md"}}, {"tags_any": []string{"book1", "book4"}},
	} {
		want := map[string][]string{}
		var order []string
		for _, r := range ask(map[string]any{"filter": filter}).Results {
			if want[r.Document.ID] == nil {
				order = append(order, r.Document.ID)
			}
			want[r.Document.ID] = append(want[r.Document.ID], r.ID)
		}
		got := ask(map[string]any{"filter": filter, "group_by": "document", "group_size": 20, "around": 1})
		var documents []string
		for _, g := range got.Groups {
			documents = append(documents, g.Document.ID)
			var found []string
			for _, r := range g.Results {
				found = append(found, r.ID)
				last := *r.End == len(texts[g.Document.ID])
				if strings.HasSuffix(r.ID, "#1") && r.Before != "" || last && r.After != "" {
					t.Errorf("around %s at an edge: %q, %q", r.ID, r.Before, r.After)
				}
			}
			if !slices.Equal(found, want[g.Document.ID]) {
				t.Errorf("of %v: %s has %q, want %q", filter, g.Document.ID, found, want[g.Document.ID])
			}
		}
		if len(order) < 2 || !slices.Equal(documents, order) {
			t.Errorf("of %v: %q, want %q", filter, documents, order)
		}
	}

	for _, page := range []struct{ offset, k, size int }{{0, 100, 20}, {0, 3, 2}, {2, 3, 1}, {6, 10, 3}} {
		var order []string
		members := map[string][]reply.Result{}
		for _, r := range all.Results {
			name := documentOf[r.ID]
			if name == "" {
				name = "- " + r.ID
			}
			if members[name] == nil {
				order = append(order, name)
			}
			if len(members[name]) < page.size {
				members[name] = append(members[name], r)
			}
		}
		order = order[min(page.offset, len(order)):min(page.offset+page.k, len(order))]
		got := ask(map[string]any{
			"group_by": "document", "group_size": page.size, "k": page.k, "offset": page.offset, "explain": true,
		})
		if got.Results != nil || len(got.Groups) != len(order) {
			t.Fatalf("%+v: %d groups and %d results, want %q", page, len(got.Groups), len(got.Results), order)
		}
		for i, g := range got.Groups {
			want := members[order[i]]
			if g.Rank != page.offset+i+1 || g.Score != want[0].Score || len(g.Results) != len(want) ||
				(g.Document == nil) != strings.HasPrefix(order[i], "- ") || g.Document != nil && g.Document.ID != order[i] {
				t.Errorf("%+v: group %d is %+v, want %s with %d passages", page, i, g, order[i], len(want))
				continue
			}
			for j, r := range g.Results {
				w := want[j]
				if r.ID != w.ID || r.Score != w.Score || r.Rank != j+1 || len(r.Explanation) != len(w.Explanation) {
					t.Errorf("%+v: passage %d of group %d is %+v, want %+v", page, j, i, r, want[j])
				}
			}
		}
	}

	begins := map[string][]int{} // of passages, by document
	for _, r := range all.Results {
		if r.Document != nil {
			begins[r.Document.ID] = append(begins[r.Document.ID], *r.Begin)
		}
	}
	for _, around := range []int{1, 2, 5} {
		for _, r := range ask(map[string]any{"around": around}).Results {
			if r.Document == nil {
				if r.Before != "" || r.After != "" {
					t.Errorf("around %s: %q, %q", r.ID, r.Before, r.After)
				}
				continue
			}
			text := texts[r.Document.ID]
			at := sorted(begins[r.Document.ID])
			n := slices.Index(at, *r.Begin)
			before := strings.TrimSpace(text[at[max(0, n-around)]:*r.Begin])
			end := len(text)
			if n+around+1 < len(at) {
				end = at[n+around+1]
			}
			after := strings.TrimSpace(text[*r.End:end])
			if i := strings.LastIndex(after, "\n\nSection"); n+around+1 < len(at) && i > 0 {
				after = after[:i] // the heading of the passage behind these
			}
			if n == 0 {
				before = ""
			}
			if r.Before != before || r.After != after {
				t.Errorf("%d around %s:\n%q\n%q, want\n%q\n%q", around, r.ID, r.Before, r.After, before, after)
			}
		}
	}

	for _, wrong := range []map[string]any{
		{"around": 6}, {"around": -1}, {"group_by": strings.Repeat("f", 1000)}, {"group_size": 3},
		{"group_by": "document", "group_size": 21},
		{"group_by": "document", "fusion": []string{"rrf", "sum"}}, {"filter": map[string]any{"documents": []string{""}}},
	} {
		wrong["question"] = "zebra"
		body, err := json.Marshal(wrong)
		if err != nil {
			t.Fatal(err)
		}
		p.get(http.MethodPost, "/v1/search", string(body), http.StatusUnprocessableEntity, nil)
	}
	var typed reply.Response
	p.get(http.MethodGet, "/v1/search?q=zebra&documents=x,X&group_by=document&around=1", "", http.StatusOK, &typed)
	if len(typed.Groups) != 2 || typed.Groups[0].Results[0].Before+typed.Groups[0].Results[0].After == "" {
		t.Errorf("%+v", typed.Groups)
	}
}

// sorted returns a sorted copy.
func sorted[T int | string](list []T) []T { return slices.Sorted(slices.Values(list)) }
