package demo

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

type passage struct {
	ID    string   `json:"id"`
	Title string   `json:"title"`
	Text  string   `json:"text"`
	Tags  []string `json:"tags"`
}

type question struct {
	ID          string   `json:"id"`
	Question    string   `json:"question"`
	Answers     []string `json:"answers"`
	PositiveIDs []string `json:"positive_ids"`
	Domain      string   `json:"domain"`
}

// lines decodes a JSON Lines file and fails on bytes that are not UTF-8, on
// control characters, on fields nobody knows and on a line that is not one
// value.
func lines[T any](t *testing.T, name string) []T {
	t.Helper()
	return linesIn[T](t, FS, name)
}

func linesIn[T any](t *testing.T, in fs.FS, name string) []T {
	t.Helper()
	data, err := fs.ReadFile(in, name)
	if err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(data) {
		t.Fatalf("%s: not UTF-8", name)
	}
	if !bytes.HasSuffix(data, []byte("\n")) {
		t.Errorf("%s: no newline at the end", name)
	}
	var out []T
	scanner := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; scanner.Scan(); n++ {
		if i := strings.IndexFunc(scanner.Text(), func(r rune) bool {
			return unicode.IsControl(r) ||
				r == utf8.RuneError
		}); i >= 0 {
			t.Errorf("%s line %d: a control or replacement character at byte %d", name, n, i)
		}
		decoder := json.NewDecoder(bytes.NewReader(scanner.Bytes()))
		decoder.DisallowUnknownFields()
		var v T
		if err := decoder.Decode(&v); err != nil {
			t.Fatalf("%s line %d: %v", name, n, err)
		}
		if decoder.More() {
			t.Errorf("%s line %d: more than one value", name, n)
		}
		out = append(out, v)
	}
	if err := scanner.Err(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

func allPassages(t *testing.T) map[string][]passage {
	t.Helper()
	out := map[string][]passage{}
	for _, domain := range Domains() {
		out[domain] = lines[passage](t, "passages/"+domain+".jsonl")
	}
	return out
}

func allQuestions(t *testing.T) map[string][]question {
	t.Helper()
	return map[string][]question{
		"dev":  lines[question](t, "questions/dev.jsonl"),
		"test": lines[question](t, "questions/test.jsonl"),
	}
}

// normal returns what two texts are compared by: lower-case words without marks.
func normal(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func TestFilesAreTheDomains(t *testing.T) {
	found, err := fs.Glob(FS, "passages/*")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, domain := range Domains() {
		want = append(want, "passages/"+domain+".jsonl")
	}
	slices.Sort(want)
	if !slices.Equal(found, want) {
		t.Errorf("passages holds %v, want %v", found, want)
	}
	if len(want) != 5 {
		t.Errorf("%d domains, want 5", len(want))
	}
}

func TestPassages(t *testing.T) {
	const shortest, longest = 40, 120
	ids, texts := map[string]bool{}, map[string]string{}
	titles := map[string]string{} // title → domain
	total := 0
	for domain, passages := range allPassages(t) {
		if len(passages) < 60 {
			t.Errorf("%s: %d passages, want 60 or more", domain, len(passages))
		}
		total += len(passages)
		for _, p := range passages {
			if !strings.HasPrefix(p.ID, domain+"/") {
				t.Errorf("%s: the id does not begin with %s/", p.ID, domain)
			}
			if ids[p.ID] {
				t.Errorf("%s: the id appears twice", p.ID)
			}
			ids[p.ID] = true
			if !slices.Equal(p.Tags, []string{domain}) {
				t.Errorf("%s: tags %v, want [%s]", p.ID, p.Tags, domain)
			}
			if n := len(strings.Fields(p.Text)); n < shortest || n > longest {
				t.Errorf("%s: %d words, want %d to %d", p.ID, n, shortest, longest)
			}
			if strings.TrimSpace(p.Text) != p.Text || strings.Contains(p.Text, "  ") || strings.TrimSpace(p.Title) != p.Title {
				t.Errorf("%s: stray white space", p.ID)
			}
			if p.Title == "" && domain != "reviews" {
				t.Errorf("%s: no title", p.ID)
			}
			if other, ok := titles[p.Title]; ok && p.Title != "" && other != domain {
				t.Errorf("%s: the title %q is one of %s too", p.ID, p.Title, other)
			}
			titles[p.Title] = domain
			key := strings.Join(normal(p.Text), " ")
			if other, ok := texts[key]; ok {
				t.Errorf("%s: the same text as %s", p.ID, other)
			}
			texts[key] = p.ID
		}
	}
	if total < 320 {
		t.Errorf("%d passages, want 320 or more", total)
	}
}

// Passages that share a long run of words would be copies, or one sentence
// with its slots filled in twice.
func TestNoSharedSequences(t *testing.T) {
	const run = 12
	seen := map[string]string{}
	for _, passages := range allPassages(t) {
		for _, p := range passages {
			words := normal(p.Text)
			for i := 0; i+run <= len(words); i++ {
				key := strings.Join(words[i:i+run], " ")
				if other, ok := seen[key]; ok && other != p.ID {
					t.Errorf("%s and %s share %q", p.ID, other, key)
				}
				seen[key] = p.ID
			}
		}
	}
}

func TestQuestions(t *testing.T) {
	texts := map[string]string{} // id → text
	for _, passages := range allPassages(t) {
		for _, p := range passages {
			texts[p.ID] = p.Text
		}
	}
	ids, asked := map[string]bool{}, map[string]string{}
	perDomain := map[string]int{}
	spans := 0
	for _, questions := range allQuestions(t) {
		for _, q := range questions {
			if ids[q.ID] {
				t.Errorf("%s: the id appears twice", q.ID)
			}
			ids[q.ID] = true
			perDomain[q.Domain]++
			if !slices.Contains(Domains(), q.Domain) || !strings.HasPrefix(q.ID, q.Domain+"/") {
				t.Errorf("%s: domain %q", q.ID, q.Domain)
			}
			key := strings.Join(normal(q.Question), " ")
			if key == "" {
				t.Errorf("%s: no question", q.ID)
			}
			if other, ok := asked[key]; ok {
				t.Errorf("%s: asks what %s asks", q.ID, other)
			}
			asked[key] = q.ID
			if len(q.PositiveIDs) == 0 {
				t.Errorf("%s: no positive passage", q.ID)
			}
			for i, id := range q.PositiveIDs {
				if _, ok := texts[id]; !ok {
					t.Errorf("%s: there is no passage %s", q.ID, id)
				}
				if !strings.HasPrefix(id, q.Domain+"/") {
					t.Errorf("%s: %s is of another domain", q.ID, id)
				}
				if slices.Contains(q.PositiveIDs[:i], id) {
					t.Errorf("%s: names %s twice", q.ID, id)
				}
			}
			if q.Answers == nil {
				t.Errorf("%s: answers are null, want a list", q.ID)
			}
			if len(q.Answers) > 0 {
				spans++
			}
			for _, answer := range q.Answers {
				in := func(id string) bool { return strings.Contains(texts[id], answer) }
				if strings.TrimSpace(answer) == "" || !slices.ContainsFunc(q.PositiveIDs, in) {
					t.Errorf("%s: the answer %q is in no positive passage", q.ID, answer)
				}
			}
		}
	}
	if len(ids) < 400 {
		t.Errorf("%d questions, want 400 or more", len(ids))
	}
	if spans*10 < len(ids)*8 {
		t.Errorf("%d of %d questions have an answer, want 80 %% or more", spans, len(ids))
	}
	for _, domain := range Domains() {
		if perDomain[domain] < 80 {
			t.Errorf("%s: %d questions, want 80 or more", domain, perDomain[domain])
		}
	}
}

// dev and test share neither a passage nor an article, product, story, topic
// or company.
func TestSplitsAreDisjoint(t *testing.T) {
	group := map[string]string{}
	for _, passages := range allPassages(t) {
		for _, p := range passages {
			group[p.ID] = p.ID // a review without a title stands alone
			if p.Title != "" {
				group[p.ID] = p.Title
			}
		}
	}
	owner := map[string]string{}
	counts := map[string]map[string]int{}
	for split, questions := range allQuestions(t) {
		counts[split] = map[string]int{}
		for _, q := range questions {
			counts[split][q.Domain]++
			for _, id := range q.PositiveIDs {
				if other, ok := owner[group[id]]; ok && other != split {
					t.Errorf("%s: %q is asked about in %s and in %s", q.ID, group[id], other, split)
				}
				owner[group[id]] = split
			}
		}
	}
	for _, domain := range Domains() {
		dev, test := counts["dev"][domain], counts["test"][domain]
		if dev*3 < test*2 || test*3 < dev*2 {
			t.Errorf("%s: %d questions in dev and %d in test, want about as many", domain, dev, test)
		}
	}
}

// TestElsewhere: questions that nothing here answers ask what no other question asks.
func TestElsewhere(t *testing.T) {
	asked := map[string]bool{}
	for _, questions := range allQuestions(t) {
		for _, q := range questions {
			asked[strings.Join(normal(q.Question), " ")] = true
		}
	}
	ids := map[string]bool{}
	for _, q := range lines[question](t, "questions/elsewhere.jsonl") {
		key := strings.Join(normal(q.Question), " ")
		if key == "" || asked[key] || ids[q.ID] || q.Domain != "elsewhere" {
			t.Errorf("%s: %q of %s is empty or not the only one", q.ID, q.Question, q.Domain)
		}
		asked[key], ids[q.ID] = true, true
		if q.PositiveIDs == nil || len(q.PositiveIDs)+len(q.Answers) > 0 {
			t.Errorf("%s: a list of no passages and no answers is wanted, not %v and %v", q.ID, q.PositiveIDs, q.Answers)
		}
	}
	if len(ids) < 100 {
		t.Errorf("%d questions, want 100 or more", len(ids))
	}
}
