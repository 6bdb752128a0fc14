package endtoend

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/handlers"
)

// minutes returns a mail with something attached to it.
func minutes(text, attached string) string {
	return "From: ann@example.org\r\nSubject: Minutes\r\nMIME-Version: 1.0\r\n" +
		"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\n" + text + "\r\n" +
		"--b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=list.txt\r\n\r\n" + attached +
		"\r\n--b--\r\n"
}

// wordFile returns a DOCX with a heading and a paragraph.
func wordFile(t *testing.T, heading, text string) string {
	t.Helper()
	const office = "http://schemas.openxmlformats.org/"
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, part := range [][2]string{
		{"_rels/.rels", `<Relationships xmlns="` + office + `package/2006/relationships"><Relationship Id="1" Type="` +
			office + `officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`},
		{"word/document.xml", `<w:document xmlns:w="` + office + `wordprocessingml/2006/main"><w:body><w:p><w:pPr>` +
			`<w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>` + heading + `</w:t></w:r></w:p><w:p><w:r><w:t>` + text +
			`</w:t></w:r></w:p></w:body></w:document>`},
		{"word/_rels/document.xml.rels", `<Relationships xmlns="` + office + `package/2006/relationships"><Relationship ` +
			`Id="1" Type="` + office + `officeDocument/2006/relationships/styles" Target="styles.xml"/></Relationships>`},
		{"word/styles.xml", `<w:styles xmlns:w="` + office + `wordprocessingml/2006/main"><w:style w:type="paragraph" ` +
			`w:styleId="Heading1"><w:name w:val="heading 1"/></w:style></w:styles>`},
	} {
		f, err := w.Create(part[0])
		if err == nil {
			_, err = f.Write([]byte(part[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// placed is a question, and where the first passage has to stand that answers it.
type placed struct {
	question, document, heading string
	page                        int
	gone                        bool // nothing answers it
}

// strangersFolder puts twenty files of eleven formats into a folder, as libraries of other people
// make them (documents/testdata) and as people write them, and returns what they answer.
func strangersFolder(t *testing.T, folder string) []placed {
	t.Helper()
	files := map[string]string{
		"wiki/parking.md":    "# Parking\n\nVisitors leave bicycles beside the chestnut.",
		"wiki/kitchen.md":    "# Kitchen\n\n## Kettle\n\nDescale the kettle with vinegar.",
		"wiki/printer.md":    "# Printer\n\nToner lies in the yellow cupboard.",
		"wiki/keys.html":     "<html><title>Keys</title><h1>Keys</h1><p>The porter lends the spare key.</p></html>",
		"letters/ladder.txt": "The ladder hangs behind the boiler.",
		"letters/piano.txt":  "The piano was tuned in February.",
		"phones.csv":         "Name,Extension\nReception,4711\n",
		"minutes.eml":        minutes("The committee chose a turquoise carpet.", "Scissors, glue and cardboard."),
		"insurance.docx":     wordFile(t, "Insurance", "Lightning is covered up to nine thousand."),
		"travel.docx":        wordFile(t, "Travel", "Sleeper trains are paid in second class."),
	}
	for name, text := range files {
		put(t, filepath.Join(folder, name), text)
	}
	for _, name := range []string{
		"handbook.pdf", "columns.pdf", "fees.xlsx", "fees.ods", "handbook.odt", "page.html", "tales.epub",
		"training.pptx", "training.odp", "desk.mbox",
	} {
		data, err := os.ReadFile(filepath.Join("..", "..", "documents", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(folder, name), string(data))
	}
	return []placed{
		{question: "workshop repairs mondays thursdays", document: "handbook.pdf", heading: "Repairs", page: 3},
		{question: "tables of the tide since 1712", document: "columns.pdf", page: 1},
		{question: "depots opened in Cork", document: "fees.xlsx", heading: "Depots", page: 2},
		{question: "heron in the mill pond", document: "tales.epub", heading: "The heron"},
		{question: "show the parcel from last week", document: "training.pptx", heading: "Damaged goods", page: 2},
		{question: "is the lift out of order", document: "desk.mbox/1.eml", heading: "Lift 1"},
		{question: "leave bicycles chestnut", document: "wiki/parking.md", heading: "Parking"},
		{question: "descale kettle vinegar", document: "wiki/kitchen.md", heading: "Kitchen › Kettle"},
		{question: "who lends the spare key", document: "wiki/keys.html", heading: "Keys"},
		{question: "where hangs the ladder", document: "letters/ladder.txt"},
		{question: "reception extension 4711", document: "phones.csv"},
		{question: "turquoise carpet committee", document: "minutes.eml", heading: "Minutes"},
		{question: "scissors glue cardboard", document: "minutes.eml/list.txt"},
		{question: "lightning covered", document: "insurance.docx", heading: "Insurance"},
		{question: "sleeper trains second class", document: "travel.docx", heading: "Travel"},
	}
}

// didHalf is what --sync says after changeHalf: the five that were changed, and the list attached to a mail, are
// replaced.
const didHalf = "2 6 5 11 1"

// changeHalf changes or removes half of the files, adds two that cannot be read, and returns what is answered then.
func changeHalf(t *testing.T, folder string) []placed {
	t.Helper()
	for _, name := range []string{"wiki/parking.md", "columns.pdf", "tales.epub", "letters/piano.txt", "fees.ods"} {
		if err := os.Remove(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(folder, "wiki/kitchen.md"), "# Kitchen\n\n## Kettle\n\nDescale the kettle with lemon.")
	put(t, filepath.Join(folder, "wiki/keys.html"), "<html><title>Keys</title><h1>Keys</h1><p>Gertrude lends it.</p></html>")
	put(t, filepath.Join(folder, "letters/ladder.txt"), "It hangs in the attic.")
	put(t, filepath.Join(folder, "minutes.eml"), minutes("The committee chose a crimson carpet.", "Needles and thread."))
	put(t, filepath.Join(folder, "travel.docx"), wordFile(t, "Travel", "Ferries are paid."))
	put(t, filepath.Join(folder, "wiki/garden.md"), "# Garden\n\nThe hedge is cut in October.")
	put(t, filepath.Join(folder, "broken.docx"), "PK\x03\x04 rubbish")
	put(t, filepath.Join(folder, "bad\xff.txt"), "Its name is not UTF-8.")
	return []placed{
		{question: "bicycles chestnut", gone: true},
		{question: "tables tide 1712", gone: true},
		{question: "heron mill", gone: true},
		{question: "piano tuned", gone: true},
		{question: "vinegar", gone: true},
		{question: "scissors cardboard", gone: true},
		{question: "turquoise", gone: true},
		{question: "descale kettle lemon", document: "wiki/kitchen.md", heading: "Kitchen › Kettle"},
		{question: "Gertrude", document: "wiki/keys.html", heading: "Keys"},
		{question: "attic", document: "letters/ladder.txt"},
		{question: "crimson carpet", document: "minutes.eml"},
		{question: "needles thread", document: "minutes.eml/list.txt"},
		{question: "ferries", document: "travel.docx", heading: "Travel"},
		{question: "hedge October", document: "wiki/garden.md", heading: "Garden"},
		{question: "workshop repairs mondays thursdays", document: "handbook.pdf", heading: "Repairs", page: 3},
		{question: "lightning covered", document: "insurance.docx", heading: "Insurance"},
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// answers asks by words, and compares the place of the first passage.
func (p *process) answers(t *testing.T, when string, all []placed) {
	t.Helper()
	for _, want := range all {
		body, err := json.Marshal(map[string]any{"question": want.question, "k": 1, "experts": []string{}, "late": false})
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Results []struct {
				ID, Heading string
				Document    *struct{ ID string }
				Page        int
			}
		}
		p.get(http.MethodPost, "/v1/search", string(body), http.StatusOK, &got)
		if want.gone {
			if len(got.Results) > 0 {
				t.Errorf("%s: %q is answered with %+v", when, want.question, got.Results)
			}
			continue
		}
		if len(got.Results) != 1 || got.Results[0].Document == nil || got.Results[0].Document.ID != want.document ||
			!strings.HasSuffix(got.Results[0].Heading, want.heading) || got.Results[0].Page != want.page {
			t.Errorf("%s: %q is answered with %+v, want %+v", when, want.question, got.Results, want)
		}
	}
}

// documents returns the documents with their SHA-256.
func (p *process) documents(t *testing.T) map[string]string {
	t.Helper()
	var list handlers.DocumentList
	p.get(http.MethodGet, "/v1/documents?limit=100", "", http.StatusOK, &list)
	out := map[string]string{}
	for _, d := range list.Documents {
		out[d.ID] = d.SHA256
	}
	return out
}

// syncs runs index --sync, and compares what it says it did.
func (s *site) syncs(t *testing.T, want string, args ...string) {
	t.Helper()
	said := s.command(append([]string{"index", "--in", "files", "--sync", "--json"}, args...)...)
	var got struct{ Added, Replaced, Removed, Unchanged, Failed int }
	if err := json.Unmarshal([]byte(said[strings.Index(said, "{"):]), &got); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if have := fmt.Sprint(got.Added, got.Replaced, got.Removed, got.Unchanged, got.Failed); have != want {
		t.Errorf("%q: added, replaced, removed, unchanged, failed: %s, want %s:\n%s", args, have, want, said)
	}
}

// TestFolderFollowed does what a stranger does: put files into a folder, index and serve it, ask,
// change half of the files, let the collection follow, and ask again. It follows while nobody
// serves it, and through the server that does; both end with the same documents.
func TestFolderFollowed(t *testing.T) {
	s := newSite(t, patient, []string{"small"}, "small", `{"id":"hand","text":"by hand"}`+"\n")
	folder := filepath.Join(s.dir, "files")
	before := strangersFolder(t, folder)
	s.command("index", "--collection", "alone", "--in", "files", "--experts", "small")
	s.command("index", "--collection", "served", "--in", "files", "--experts", "small")

	server := s.serve("", "--collection", "served")
	server.answers(t, "indexed", before)
	const there = 22 // of a mailbox two, and what is attached to a mail
	if n := len(server.documents(t)); n != there {
		t.Errorf("%d documents: %v", n, slices.Sorted(maps.Keys(server.documents(t))))
	}
	// What is attached to a mail stays with it uncounted.
	s.syncs(t, fmt.Sprint(0, 0, 0, there-1, 0), "--url", server.url)

	after := changeHalf(t, folder)
	s.syncs(t, didHalf, "--url", server.url)
	server.answers(t, "through the server", after)
	want := server.documents(t)
	said := s.command("index", "--in", "files", "--sync", "--url", server.url)
	if !strings.Contains(said, "broken.docx: ") || !strings.Contains(said, "0 removed, 18 unchanged, 1 failed") {
		t.Errorf("once more: %s", said)
	}
	server.stop()

	s.syncs(t, didHalf, "--collection", "alone")
	alone := s.serve("", "--collection", "alone")
	alone.answers(t, "while nobody serves", after)
	if got := alone.documents(t); !maps.Equal(got, want) {
		t.Errorf("while nobody serves: %v, want %v", got, want)
	}
	alone.stop()
}

// TestClusterFolderFollowed: a collection in a cluster follows a folder as TestFolderFollowed does, and has the
// documents of one in a folder that is indexed afterwards.
func TestClusterFolderFollowed(t *testing.T) {
	c := startCluster(t)
	s := newSite(t, patient, []string{"small"}, "small", `{"id":"hand","text":"by hand"}`+"\n")
	folder := filepath.Join(s.dir, "files")
	before := strangersFolder(t, folder)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	stored := storeAt(t, c, "followed")
	s.command("index", "--store", stored, "--in", "files", "--experts", "small")
	inCluster := s.serve("", "--store", stored)
	inCluster.answers(t, "in a cluster", before)
	after := changeHalf(t, folder)
	s.syncs(t, didHalf, "--store", stored)
	inCluster.answers(t, "in a cluster, afterwards", after)
	s.command("index", "--collection", "afterwards", "--in", "files", "--experts", "small")
	indexed := s.serve("", "--collection", "afterwards")
	if got, want := inCluster.documents(t), indexed.documents(t); !maps.Equal(got, want) {
		t.Errorf("in a cluster: %v, want %v", got, want)
	}
	indexed.stop()
	put(t, filepath.Join(folder, "wiki/garden.md"), "# Garden\n\nThe hedge is cut in November.")
	s.syncs(t, "0 1 0 17 1", "--url", inCluster.url)
	inCluster.answers(t, "in a cluster, through its server", []placed{
		{question: "hedge November", document: "wiki/garden.md", heading: "Garden"}, {question: "October", gone: true},
	})
	inCluster.stop()
}
