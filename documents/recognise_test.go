package documents

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// testRecogniser returns tesseract with its English model, or skips the test where it is not installed.
func testRecogniser(t *testing.T) *Recogniser {
	t.Helper()
	program, err := exec.LookPath("tesseract")
	if err != nil {
		t.Skip("SKIPPED: tesseract is not installed (Debian: apt-get install tesseract-ocr)")
	}
	return &Recogniser{Program: program, Languages: "eng", Time: time.Minute, Confine: testConfiner()}
}

// drawnText returns a picture of lines of text, black on white, of a page of 5 × 3 inches at 200 dots an inch.
func drawnText(t *testing.T, lines ...string) *image.Gray {
	t.Helper()
	parsed, err := opentype.Parse(goregular.TTF)
	if err != nil {
		t.Fatal(err)
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: 14, DPI: 200})
	if err != nil {
		t.Fatal(err)
	}
	picture := image.NewGray(image.Rect(0, 0, 1000, 600))
	draw.Draw(picture, picture.Bounds(), image.White, image.Point{}, draw.Src)
	d := font.Drawer{Dst: picture, Src: image.NewUniform(color.Black), Face: face}
	for i, line := range lines {
		d.Dot = fixed.P(60, 120+i*60)
		d.DrawString(line)
	}
	return picture
}

// scannedPDF returns a PDF whose pages are each a text that can be selected, or a picture.
func scannedPDF(t *testing.T, pages ...any) []byte {
	t.Helper()
	var out bytes.Buffer
	var at []int
	object := func(format string, args ...any) {
		at = append(at, out.Len())
		_, _ = fmt.Fprintf(&out, "%d 0 obj\n"+format+"\nendobj\n", append([]any{len(at)}, args...)...)
	}
	stream := func(head string, data []byte) {
		object("<<%s /Length %d>>\nstream\n%s\nendstream", head, len(data), data)
	}
	out.WriteString("%PDF-1.4\n")
	object("<</Type /Catalog /Pages 2 0 R>>")
	var kids []string
	for i := range pages {
		kids = append(kids, fmt.Sprintf("%d 0 R", 4+3*i))
	}
	object("<</Type /Pages /Count %d /Kids [%s]>>", len(pages), strings.Join(kids, " "))
	object("<</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>")
	for i, page := range pages {
		object("<</Type /Page /Parent 2 0 R /MediaBox [0 0 360 216] /Contents %d 0 R /Resources <</Font <</F 3 0 R>> /XObject <</P %d 0 R>>>>>>", 5+3*i, 6+3*i)
		switch page := page.(type) {
		case string:
			stream("", []byte("BT /F 12 Tf 20 150 Td ("+page+") Tj ET"))
			stream("", nil)
		case *image.Gray:
			var packed bytes.Buffer
			w := zlib.NewWriter(&packed)
			_, _ = w.Write(page.Pix)
			_ = w.Close()
			stream("", []byte("q 360 0 0 216 0 0 cm /P Do Q"))
			stream(fmt.Sprintf("/Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /FlateDecode",
				page.Rect.Dx(), page.Rect.Dy()), packed.Bytes())
		default: // an empty page
			stream("", nil)
			stream("", nil)
		}
	}
	table := out.Len()
	_, _ = fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, offset := range at {
		_, _ = fmt.Fprintf(&out, "%010d 00000 n \n", offset)
	}
	_, _ = fmt.Fprintf(&out, "trailer <</Size %d /Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, table)
	return out.Bytes()
}

// poolWith returns an extractor whose pool has these programs beside the readers of the tests.
func poolWith(t *testing.T, change func(*PoolOptions)) *Extractor {
	t.Helper()
	o := PoolOptions{Start: testWorker(), Workers: 2}
	change(&o)
	pool := NewPool(o)
	t.Cleanup(func() { _ = pool.Close() })
	return NewExtractor(limits(), pool).For("", 100)
}

// TestScannedPages: pages that are pictures are read in their places between the others, with how sure tesseract
// was; an empty page is none of them.
func TestScannedPages(t *testing.T) {
	ocr := testRecogniser(t)
	r := poolWith(t, func(o *PoolOptions) { o.OCR = ocr })
	data := scannedPDF(t, "The first page can be selected.",
		drawnText(t, "Invoice number 20417", "for four copper kettles"), nil, "The last page can be selected.")
	d, _, err := r.Read(t.Context(), Input{Name: "scan.pdf", Data: data})
	if err != nil {
		t.Fatal(err)
	}
	if want := "The first page can be selected.\n\nInvoice number 20417 for four copper kettles\n\nThe last page can be selected."; d.Text != want {
		t.Errorf("the text is %q, want %q", d.Text, want)
	}
	var pages []int
	for _, b := range d.Blocks {
		pages = append(pages, b.Page)
	}
	if fmt.Sprint(pages) != "[1 2 4]" || len(d.Recognised) != 1 || d.Recognised[2] < 80 {
		t.Errorf("blocks of pages %v, recognised %v", pages, d.Recognised)
	}
	if len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "page 2") ||
		!strings.Contains(d.Warnings[0], "tesseract") {
		t.Errorf("the warnings are %q", d.Warnings)
	}
	passages := PassagesOf(About{ID: "scan.pdf"}, d, data, 100)
	found := false
	for _, p := range passages {
		found = found || p.Metadata["ocr_confidence"] == int64(d.Recognised[2])
	}
	if !found {
		t.Errorf("no passage has the confidence: %v", passages)
	}

	all := scannedPDF(t, drawnText(t, "Nothing can be selected here"))
	d, _, err = r.Read(t.Context(), Input{Name: "all.pdf", Data: all})
	if err != nil || d.Text != "Nothing can be selected here" {
		t.Errorf("a PDF of pictures alone: %v %+v", err, d)
	}
	_, _, err = r.Read(t.Context(), Input{Name: "none.pdf", Data: scannedPDF(t, drawnText(t))})
	if ReasonOf(err) != NoText {
		t.Errorf("a picture without letters: %v", err)
	}
}

// TestPictures: a PNG is read as a page is; what is damaged is refused.
func TestPictures(t *testing.T) {
	ocr := testRecogniser(t)
	r := poolWith(t, func(o *PoolOptions) { o.OCR = ocr })
	var picture bytes.Buffer
	if err := png.Encode(&picture, drawnText(t, "Opening hours of the mill", "", "", "Monday to Friday")); err != nil {
		t.Fatal(err)
	}
	d, _, err := r.Read(t.Context(), Input{Name: "hours.png", Data: picture.Bytes()})
	if err != nil || d.Text != "Opening hours of the mill\n\nMonday to Friday" || d.MediaType != "image/png" ||
		d.Pages != 1 {
		t.Errorf("%v %+v", err, d)
	}
	_, _, err = r.Read(t.Context(), Input{Name: "cut.png", Data: picture.Bytes()[:100]})
	if ReasonOf(err) != Damaged {
		t.Errorf("a damaged picture: %v", err)
	}
}

// TestWithoutOCR: where tesseract is not installed, every picture is named with what to install.
func TestWithoutOCR(t *testing.T) {
	r := poolWith(t, func(*PoolOptions) {})
	d, _, err := r.Read(t.Context(), Input{Name: "scan.pdf", Data: scannedPDF(t, "Some text.", drawnText(t, "A picture"))})
	if err != nil || len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "page 2") ||
		!strings.Contains(d.Warnings[0], "tesseract-ocr") {
		t.Errorf("%v, warnings %q", err, d.Warnings)
	}
	for name, data := range map[string][]byte{
		"all.pdf": scannedPDF(t, drawnText(t, "A picture")), "a.jpg": []byte("\xff\xd8\xff\xe0\x00\x10JFIF\x00 rubbish"),
	} {
		_, _, err := r.Read(t.Context(), Input{Name: name, Data: data})
		if ReasonOf(err) != NoText || !strings.Contains(err.Error(), "tesseract-ocr") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOCRTime: pages that there is no time for are named.
func TestOCRTime(t *testing.T) {
	ocr := testRecogniser(t)
	ocr.Time = time.Nanosecond
	r := poolWith(t, func(o *PoolOptions) { o.OCR = ocr })
	d, _, err := r.Read(t.Context(), Input{Name: "scan.pdf", Data: scannedPDF(t, "Some text.", drawnText(t, "A"), drawnText(t, "B"))})
	if err != nil || d.Text != "Some text." || len(d.Warnings) != 1 ||
		!strings.Contains(d.Warnings[0], "pages 2, 3") || !strings.Contains(d.Warnings[0], "no time") {
		t.Errorf("%v %+v", err, d)
	}
}

// TestConverters: a file of an unknown format is converted by the program of its ending; what the program does wrong
// is the reason why the file is not read, and nothing that it wrote stays.
func TestConverters(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string) Converter {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\nset -e\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return Converter{Command: []string{path, "{in}", "{dir}"}}
	}
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	tools := &Converters{Time: time.Minute, Confine: testConfiner(), ByEnding: map[string]Converter{
		".rtf":  script("rtf", `exit 1`),
		".old":  script("old", `tail -c +5 "$1" >"$2/made.md"`),
		".bad":  script("bad", `echo "cannot open display" >&2; exit 3`),
		".none": script("none", `true`),
		".same": script("same", `cp "$1" "$2/"`),
		".md":   script("md", `exit 1`),
	}}
	r := poolWith(t, func(o *PoolOptions) { o.Converters = tools })
	data := "\x00\x01\x02\x03# Kettles\n\nCopper ones are kept dry."
	d, _, err := r.Read(t.Context(), Input{Name: "a/kettles.OLD", Data: []byte(data)})
	if err != nil || d.Text != "Kettles\n\nCopper ones are kept dry." || len(d.Warnings) != 1 ||
		!strings.Contains(d.Warnings[0], "converted to .md by old") {
		t.Errorf("%v %+v", err, d)
	}
	for name, want := range map[string]string{
		"a.bad": "cannot open display", "a.none": "wrote nothing", "a.same": "which is not read",
	} {
		_, _, err := r.Read(t.Context(), Input{Name: name, Data: []byte(data)})
		if err == nil || ReasonOf(err) == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	rtf := Input{Name: "b.rtf", Data: []byte(`{\rtf1 Read as it is}`)}
	if d, _, err := r.Read(t.Context(), rtf); err != nil || d.Text != "Read as it is" {
		t.Errorf("RTF needs no converter: %v", err)
	}
	if d, _, err := r.Read(t.Context(), Input{Name: "b.md", Data: []byte("# Read as it is")}); err != nil || d.Text != "Read as it is" {
		t.Errorf("a format that is read needs no converter: %v", err)
	}
	// Programs of others have no network, no memory without a bound, and nothing of the server's environment.
	t.Setenv("CONCLAVE_KEY", "secret")
	tools.ByEnding[".net"] = script("net", `python3 -c 'import socket; socket.socket()' 2>&1 | tail -1; exit 1`)
	tools.ByEnding[".big"] = script("big", `python3 -c 'bytes(2 << 30)' 2>&1 | tail -1; exit 1`)
	tools.ByEnding[".env"] = script("env", `echo "key:$CONCLAVE_KEY"; exit 1`)
	wants := map[string]string{"a.env": "convert it: key:"}
	if _, err := exec.LookPath("python3"); err == nil && runtime.GOOS == "linux" {
		wants["a.net"], wants["a.big"] = "PermissionError", "MemoryError"
	}
	for name, want := range wants {
		_, _, err := r.Read(t.Context(), Input{Name: name, Data: []byte(data)})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	// A renderer of pages gets their address, and has the network, but not the environment.
	if _, ok, err := r.Render(t.Context(), "https://a.example/"); ok || err != nil {
		t.Errorf("without a renderer: %v %v", ok, err)
	}
	tools.ByEnding[AddressEnding] = script("render", `echo "<p>key:$CONCLAVE_KEY $(cat "$1")" >"$2/page.html"`)
	page, ok, err := r.Render(t.Context(), "https://a.example/x")
	if string(page) != "<p>key: https://a.example/x\n" || !ok || err != nil {
		t.Errorf("a renderer: %q %v %v", page, ok, err)
	}
	tools.ByEnding[AddressEnding] = script("fails", `echo "no display" >&2; exit 3`)
	if _, ok, err := r.Render(t.Context(), "https://a.example/x"); !ok || err == nil || !strings.Contains(err.Error(), "no display") {
		t.Errorf("a renderer that fails: %v %v", ok, err)
	}
	tools.Time = 50 * time.Millisecond
	tools.ByEnding[".slow"] = script("slow", `sleep 60`)
	if _, _, err := r.Read(t.Context(), Input{Name: "a.slow", Data: []byte(data)}); ReasonOf(err) != TooSlow {
		t.Errorf("a slow converter: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := r.Read(ctx, Input{Name: "a.old", Data: []byte(data)}); err == nil {
		t.Error("a caller who has gone is answered")
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("%v: %d files are left", err, len(left))
	}
}
