package documents

import (
	"strings"
	"testing"
)

// TestPagesKeepTheirSections: of a page are left out what is navigation, comments and the like by its elements or
// names, and nothing else, however its sections are made.
func TestPagesKeepTheirSections(t *testing.T) {
	words := func(name string, n int) string { return strings.TrimSpace(strings.Repeat(name+" ", n)) + "." }
	page := `<html><head><title>Pump</title></head><body>
<div id="header"><h1>pumpctl(1)</h1><h2>NAME</h2><p>pumpctl - controls the pump</p></div>
<div class="main-nav"><a href="a">Start</a> <a href="b">Shop</a> navtext</div>
<div id="content">
<div class="sect1"><h2>SYNOPSIS</h2><pre>pumpctl start VALVE</pre></div>
<div class="sect1"><h2>OPTIONS</h2><dl><dt>--fast</dt><dd>` + words("quick", 60) + `</dd><dt>--slow</dt><dd>` + words("calm", 60) + `</dd></dl></div>
<div class="sect1"><h2>EXAMPLES</h2><p>` + words("sample", 20) + `</p></div>
<div class="sect1"><h2>BUGS</h2><p>none yet</p></div>
</div>
<div class="comments-area"><h2>2 comments</h2><p>` + words("opinion", 50) + `</p></div>
<div class="shareButtons">sharetext</div>
</body></html>`
	d, _, err := NewExtractor(limits(), nil).Read(t.Context(), Input{Name: "a.html", Data: []byte(page)})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"NAME", "controls the pump", "SYNOPSIS", "start VALVE", "--fast", "quick", "EXAMPLES", "sample", "none yet"} {
		if !strings.Contains(d.Text, want) {
			t.Errorf("%q is lost", want)
		}
	}
	for _, other := range []string{"navtext", "opinion", "sharetext"} {
		if strings.Contains(d.Text, other) {
			t.Errorf("%q is beside the text", other)
		}
	}
	if len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "56 words") {
		t.Errorf("warnings %q", d.Warnings)
	}
}

// TestEveryRemovalIsNamed: whatever is removed of a page is named with its words, links and few words included, and
// footnotes beside the main element stay.
func TestEveryRemovalIsNamed(t *testing.T) {
	prose := strings.Repeat("The pump is serviced every May by two people. ", 30)
	page := `<html><body><nav><a href="a">Startlink</a></nav><main><h1>Pump</h1><p>` + prose + `</p><p hidden>Hiddenword.</p></main>` +
		`<p>Besideword.</p><div class="footnotes"><p>Noteword.</p></div><footer>Footword</footer></body></html>`
	d, _, err := NewExtractor(limits(), nil).Read(t.Context(), Input{Name: "a.html", Data: []byte(page)})
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"Startlink", "Hiddenword", "Besideword", "Footword"} {
		if strings.Contains(d.Text, gone) {
			t.Errorf("%q is in the text", gone)
		}
		namesAll(t, d, gone)
	}
	if !strings.Contains(d.Text, "Noteword") {
		t.Errorf("the footnote is lost: %q", d.Warnings)
	}
	// Without a main element, Readability leaves out what has few words.
	page = `<html><body><div class="x"><span>Dateword</span></div><article><h1>Pump</h1><p>` + prose + `</p></article>` +
		`<div><a href="b">Linkword</a></div></body></html>`
	d, _, err = NewExtractor(limits(), nil).Read(t.Context(), Input{Name: "a.html", Data: []byte(page)})
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"Dateword", "Linkword"} {
		if !strings.Contains(d.Text, word) {
			namesAll(t, d, word)
		}
	}
}

// TestNumbersOfItems: items have the numbers that a page shows.
func TestNumbersOfItems(t *testing.T) {
	page := `<body><ol type="a" start="2"><li>two</li><li value="5">five</li><li>six</li></ol>` +
		`<ol reversed><li>last</li><li>first</li></ol><ol type="I"><li>one</li></ol>`
	d, _, err := NewExtractor(limits(), nil).Read(t.Context(), Input{Name: "a.html", Data: []byte(page)})
	if err != nil {
		t.Fatal(err)
	}
	if want := "b. two\ne. five\nf. six\n2. last\n1. first\nI. one"; d.Text != want {
		t.Errorf("got %q, want %q", d.Text, want)
	}
}

// TestUnreadElements: the text of elements that are not read is named, but for what no browser shows.
func TestUnreadElements(t *testing.T) {
	page := `<body><p>The pump is serviced in May. <img src="a.png" alt="Drawing of the pump"></p><form>` +
		`<select><option>Optionword</option></select><textarea>Areaword</textarea><button>Buttonword</button>` +
		`<input value="Valueword"><input type="hidden" value="Secretword"></form>` +
		`<noscript><p>Fallbackword</p></noscript><script>Scriptword()</script><style>Styleword{}</style></body>`
	d, _, err := NewExtractor(limits(), nil).Read(t.Context(), Input{Name: "a.html", Data: []byte(page)})
	if err != nil {
		t.Fatal(err)
	}
	if d.Text != "The pump is serviced in May." {
		t.Errorf("%q", d.Text)
	}
	for _, text := range []string{"Drawing of the pump", "Optionword", "Areaword", "Buttonword", "Valueword", "Fallbackword"} {
		namesAll(t, d, text)
	}
	if all := strings.Join(d.Warnings, " "); strings.Contains(all, "Secretword") || strings.Contains(all, "Scriptword") ||
		strings.Contains(all, "Styleword") || strings.Contains(all, "<p>") {
		t.Errorf("%q", d.Warnings)
	}
}

// TestRaisedCents: two raised digits may be cents, which is said, but not of powers of two and ten and of other digits.
func TestRaisedCents(t *testing.T) {
	for page, want := range map[string]string{
		"<p>Price 4<sup>99</sup> euro.":            "4.99",
		"<p>The price is 1299<sup>00</sup>":        "1299.00",
		"<p>2<sup>10</sup> units, 10<sup>23</sup>": "",
		"<p>3<sup>4</sup>, x<sup>12</sup>":         "",
		"<p>5<sub>12</sub>":                        "",
	} {
		d, _, err := NewExtractor(limits(), nil).Read(t.Context(), Input{Name: "a.html", Data: []byte("<body>" + page)})
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(d.Warnings, " ")
		if want == "" && strings.Contains(all, "cents") || want != "" && !strings.Contains(all, want+", with raised cents") {
			t.Errorf("%s: %q, warnings %q", page, d.Text, d.Warnings)
		}
	}
}
