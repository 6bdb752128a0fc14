package documents

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// made returns the contents of the files of testdata, by name, without the scripts that make them.
func made(tb testing.TB) map[string][]byte {
	tb.Helper()
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		tb.Fatal(err)
	}
	all := map[string][]byte{}
	for _, f := range files {
		if strings.HasSuffix(f, ".py") || strings.HasSuffix(f, "requirements.txt") {
			continue
		}
		all[filepath.Base(f)], err = os.ReadFile(f)
		if err != nil {
			tb.Fatal(err)
		}
	}
	return all
}

// check fails where a document contradicts itself.
func check(tb testing.TB, name string, d *Document) {
	tb.Helper()
	if !utf8.ValidString(d.Text) || len(d.Blocks) == 0 {
		tb.Errorf("%s: a text that is not UTF-8, or %d blocks", name, len(d.Blocks))
	}
	at := 0
	for _, b := range d.Blocks {
		if b.Begin < at || b.End <= b.Begin || b.End > len(d.Text) || strings.TrimSpace(d.Text[at:b.Begin]) != "" {
			tb.Fatalf("%s: block %+v behind byte %d of %d", name, b, at, len(d.Text))
		}
		at = b.End
	}
	covered := 0
	for _, p := range Cut(d, 40, words) {
		if p.Begin < covered || p.End <= p.Begin || p.End > len(d.Text) {
			tb.Fatalf("%s: piece %+v behind byte %d", name, p, covered)
		}
		covered = p.End
	}
}

func words(s string) int { return len(strings.Fields(s)) }

// TestDamaged: files with flipped bytes, cut off, and put together are read or refused
// with a reason, within bounds.
func TestDamaged(t *testing.T) {
	r := newTestReader(t)
	seed := uint64(39)
	rng := rand.New(rand.NewPCG(seed, seed))
	t.Logf("seed %d", seed)
	read, refused := 0, 0
	files := made(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		data := files[name]
		for variant := range 24 {
			bad := bytes.Clone(data)
			switch variant % 4 {
			case 0:
				for range 1 + len(bad)/200 {
					bad[rng.IntN(len(bad))] = byte(rng.Uint32())
				}
			case 1:
				bad = bad[:rng.IntN(len(bad))]
			case 2:
				from := rng.IntN(len(bad))
				bad = append(bad[:from:from], bad[min(len(bad), from+1+rng.IntN(64)):]...)
			case 3:
				from := rng.IntN(len(bad))
				bad = append(bad[:from:from], append(bytes.Clone(data), bad[from:]...)...)
			}
			d, _, err := r.Read(t.Context(), Input{Name: name, Data: bad})
			switch {
			case err == nil:
				read++
				check(t, name, d)
			case ReasonOf(err) == "":
				t.Errorf("%s, variant %d: %v is no reason", name, variant, err)
			default:
				refused++
			}
		}
	}
	if read+refused < 300 || refused < 50 {
		t.Errorf("%d damaged files were read and %d refused: too few to say anything", read, refused)
	}
	t.Logf("%d read, %d refused", read, refused)
}

// TestDamagedNamed puts files of every format, flipped, cut, and packed into archives and mails,
// into a folder, and reads it: each either gives passages or is named with its reason, and the
// good file among them is read.
func TestDamagedNamed(t *testing.T) {
	const seed = 40
	rng := rand.New(rand.NewPCG(seed, seed))
	t.Logf("seed %d", seed)
	dir := t.TempDir()
	files := made(t)
	n := 0
	put := func(name string, data []byte) {
		n++
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	formats := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		formats[filepath.Ext(name)] = true
		data := files[name]
		for variant := range 20 {
			bad := bytes.Clone(data)
			if variant%2 == 0 {
				for range 1 + len(bad)/100 {
					bad[rng.IntN(len(bad))] ^= byte(1 + rng.IntN(255))
				}
			} else {
				bad = bad[:rng.IntN(len(bad))]
			}
			as := fmt.Sprintf("%02d-%s", variant, name)
			switch variant % 5 {
			case 3:
				bad = zipOf(map[string]string{name: string(bad)})
				as += ".zip"
			case 4:
				bad = zipOf(map[string]string{"in.zip": string(zipOf(map[string]string{name: string(bad)}))})
				as += ".zip"
			}
			put(as, bad)
		}
	}
	put("good.md", []byte("# Good\n\nThis one is read."))
	if n < 300 || len(formats) < 12 {
		t.Fatalf("%d files of %d formats say too little", n, len(formats))
	}
	named := map[string]int{}
	failed := func(path string, err error) {
		if ReasonOf(err) == "" {
			t.Errorf("%s: %v is no reason", path, err)
		}
		file, _, _ := strings.Cut(path, "/")
		named[file]++
	}
	source, err := Open(t.Context(), []string{dir}, Options{
		Limits: limits(), Words: 100, Failed: failed, Pool: newTestPool(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]int{}
	for {
		p, err := source.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		file, _, _ := strings.Cut(p.ID[:strings.LastIndexByte(p.ID, '#')], "/")
		read[file]++
	}
	if err := source.Close(); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if named[e.Name()] == 0 && read[e.Name()] == 0 {
			t.Errorf("%s was neither read nor named", e.Name())
		}
	}
	if read["good.md"] != 1 || len(named) < 100 {
		t.Errorf("the good file has %d passages, and %d files are named", read["good.md"], len(named))
	}
	t.Logf("of %d files %d are named", n, len(named))
}

// zipOf makes an archive.
func zipOf(files map[string]string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range files {
		f, _ := w.Create(name)
		f.Write([]byte(text))
	}
	w.Close()
	return b.Bytes()
}

// TestBombs: small files that would grow large are refused.
func TestBombs(t *testing.T) {
	r := newTestReader(t)
	large := strings.Repeat("<w:p><w:r><w:t>x</w:t></w:r></w:p>", 1<<20)
	deep := strings.Repeat("<w:tbl><w:tr><w:tc>", 4000)
	entities := `<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><w:document xmlns:w="w"><w:p><w:r><w:t>&b;</w:t></w:r></w:p></w:document>`
	types := `<Relationships><Relationship Id="1" Type="x/officeDocument" Target="word/document.xml"/></Relationships>`
	files := map[string][]byte{
		"zip.docx":      zipOf(map[string]string{"_rels/.rels": types, "word/document.xml": large}),
		"deep.docx":     zipOf(map[string]string{"_rels/.rels": types, "word/document.xml": deep}),
		"entities.docx": zipOf(map[string]string{"_rels/.rels": types, "word/document.xml": entities}),
		"deep.html":     []byte(strings.Repeat("<div><table><tr><td>", 20000) + "x"),
		"deep.md":       []byte(strings.Repeat("> ", 20000) + "x"),
		"lists.md":      []byte(strings.Repeat("* ", 20000) + "x"),
		"brackets.md":   []byte(strings.Repeat("[", 50000) + strings.Repeat("](a)", 50000)),
		"long.txt":      []byte(strings.Repeat("a", 5<<20)),
		"objects.pdf":   objects(200_000),
		"parts.eml": []byte(
			"From: a\nSubject: b\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\n" + strings.Repeat(
				"--x\nContent-Type: multipart/mixed; boundary=x\n\n", 20000,
			),
		),
	}
	for name, data := range files {
		from := time.Now()
		d, _, err := r.Read(t.Context(), Input{Name: name, Data: data})
		if err == nil {
			check(t, name, d)
		} else if ReasonOf(err) == "" {
			t.Errorf("%s: %v is no reason", name, err)
		}
		t.Logf("%s: %v in %v", name, err, time.Since(from).Round(time.Millisecond))
		if name == "zip.docx" && ReasonOf(err) != TooLarge || name == "entities.docx" && ReasonOf(err) != Damaged ||
			name == "long.txt" && ReasonOf(err) != TooLarge {
			t.Errorf("%s was answered with %v", name, err)
		}
	}
}

// objects returns a PDF with n empty objects.
func objects(n int) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n")
	for i := range n {
		fmt.Fprintf(&b, "%d 0 obj<<>>endobj\n", i+3)
	}
	b.WriteString("trailer<</Root 1 0 R>>\n%%EOF")
	return b.Bytes()
}

// TestExpand: archives and mailboxes, also in each other, give the files in them.
func TestExpand(t *testing.T) {
	files := made(t)
	inner := zipOf(
		map[string]string{
			"notes/a.md": "# A\n\nfirst", ".hidden.md": "no", "__MACOSX/a.md": "no", "../up.txt": "second",
			`win\sub\b.txt`: "third", `..\..\out.txt`: "fourth", `win\.hidden\c.txt`: "no",
		},
	)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	for name, data := range map[string][]byte{"in.zip": inner, "handbook.docx": files["handbook.docx"], "desk.mbox": files["desk.mbox"]} {
		w.WriteHeader(&tar.Header{Name: name, Size: int64(len(data)), Typeflag: tar.TypeReg, Mode: 0o644})
		w.Write(data)
	}
	w.WriteHeader(&tar.Header{Name: "link", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink})
	w.Close()
	z.Close()
	got := map[string]int{}
	if err := Expand("all.tar.gz", packed.Bytes(), limits(), func(m Member) error {
		got[m.Name] = len(m.Data)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"all.tar.gz/in.zip/notes/a.md",
		"all.tar.gz/in.zip/up.txt",
		"all.tar.gz/in.zip/win/sub/b.txt",
		"all.tar.gz/in.zip/out.txt",
		"all.tar.gz/handbook.docx",
		"all.tar.gz/desk.mbox/1.eml",
		"all.tar.gz/desk.mbox/2.eml",
	}
	for _, name := range want {
		if got[name] == 0 {
			t.Errorf("%s is missing from %v", name, got)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
	nested := []byte("x")
	for range 6 {
		nested = zipOf(map[string]string{"again.zip": string(nested)})
	}
	if err := Expand("nested.zip", nested, limits(), func(Member) error { return nil }); ReasonOf(err) != TooLarge {
		t.Errorf("archives in archives: %v", err)
	}
	var bomb bytes.Buffer
	z = gzip.NewWriter(&bomb)
	for range 80 {
		z.Write(make([]byte, 1<<20))
	}
	z.Close()
	if err := Expand("bomb.gz", bomb.Bytes(), limits(), func(Member) error { return nil }); ReasonOf(err) != TooLarge {
		t.Errorf("80 MiB of zeros: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	for name, data := range made(f) {
		if !strings.HasSuffix(name, ".pdf") { // PDFium has fuzzers of its own
			f.Add(name, data)
		}
	}
	r := NewExtractor(
		Limits{
			FileBytes:     1 << 20,
			UnpackedBytes: 1 << 20,
			TextBytes:     1 << 20,
			Blocks:        1 << 14,
			Time:          10 * time.Second,
			Depth:         2,
			Members:       100,
		},
		nil,
	)
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		d, _, err := r.Read(t.Context(), Input{Name: name, Data: data})
		if err == nil {
			check(t, name, d)
		} else if ReasonOf(err) == "" {
			t.Fatalf("%v is no reason", err)
		} else if ReasonOf(err) == TooSlow {
			t.Fatal(err)
		}
	})
}
