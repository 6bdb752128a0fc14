package documents

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

const office = "http://schemas.openxmlformats.org/"

// related writes the relations of a part.
func related(all ...string) string {
	var b strings.Builder
	b.WriteString(`<Relationships xmlns="` + office + `package/2006/relationships">`)
	for i := 0; i < len(all); i += 2 {
		fmt.Fprintf(&b, `<Relationship Id="r%d" Type="%sofficeDocument/2006/relationships/%s" Target="%s"/>`,
			i/2+1, office, all[i], all[i+1])
	}
	return b.String() + "</Relationships>"
}

// wordOf returns a Word file with a body, and other parts.
func wordOf(body string, others map[string]string) []byte {
	files := map[string]string{
		"_rels/.rels": related("officeDocument", "word/document.xml"),
		"word/document.xml": `<w:document xmlns:w="` + office + `wordprocessingml/2006/main" xmlns:r="` + office +
			`officeDocument/2006/relationships" xmlns:dgm="` + office + `drawingml/2006/diagram"><w:body>` + body +
			`</w:body></w:document>`,
	}
	maps.Copy(files, others)
	return zipOf(files)
}

// steps is a diagram: two steps, of which the first, that the file has last, has a part below it.
var steps = `<dgm:dataModel xmlns:dgm="` + office + `drawingml/2006/diagram" xmlns:a="` + office + `drawingml/2006/main">` +
	`<dgm:ptLst><dgm:pt modelId="0" type="doc"/>` +
	`<dgm:pt modelId="3"><dgm:t><a:p><a:r><a:t>Print the </a:t></a:r><a:r><a:t>label</a:t></a:r></a:p></dgm:t></dgm:pt>` +
	`<dgm:pt modelId="2"><dgm:t><a:p><a:r><a:t>Weigh</a:t></a:r></a:p></dgm:t></dgm:pt>` +
	`<dgm:pt modelId="1"><dgm:t><a:p><a:r><a:t>Pack the parcel</a:t></a:r></a:p></dgm:t></dgm:pt>` +
	`<dgm:pt modelId="9" type="pres"><dgm:t><a:p><a:r><a:t>drawn</a:t></a:r></a:p></dgm:t></dgm:pt>` +
	`</dgm:ptLst><dgm:cxnLst><dgm:cxn modelId="5" srcId="0" destId="3" srcOrd="1"/>` +
	`<dgm:cxn modelId="6" srcId="0" destId="1" srcOrd="0"/><dgm:cxn modelId="7" srcId="1" destId="2" srcOrd="0"/>` +
	`<dgm:cxn modelId="8" type="presOf" srcId="3" destId="9"/></dgm:cxnLst></dgm:dataModel>`

const listed = "item1: Pack the parcel\nitem2: Weigh\nitem1: Print the label\n"

func para(text string) string { return "<w:p><w:r><w:t>" + text + "</w:t></w:r></w:p>" }

// TestAside: diagrams, and files that Word shows as parts of a text, are read where they stand.
func TestAside(t *testing.T) {
	r := newTestReader(t)
	drawn := `<w:p><w:r><w:t>The steps:</w:t><w:drawing><dgm:relIds r:dm="r1"/></w:drawing></w:r></w:p>`
	inner := wordOf(para("Of another file.")+`<w:altChunk r:id="r1"/>`, map[string]string{
		"word/_rels/document.xml.rels": related("aFChunk", "in.txt"), "word/in.txt": "Of a text in it.\n",
	})
	chunks := wordOf(para("Before.")+`<w:altChunk r:id="r1"/>`+para("Between.")+
		`<w:altChunk r:id="r2"/><w:altChunk r:id="r3"/>`+para("After."), map[string]string{
		"word/_rels/document.xml.rels": related("aFChunk", "a.html", "aFChunk", "b.docx", "aFChunk", "c.rtf"),
		"word/a.html":                  "<html><body><h2>Rates</h2><p>Of a page.</p></body></html>",
		"word/b.docx":                  string(inner), "word/c.rtf": "{\\rtf1 no}",
	})
	slide := zipOf(map[string]string{
		"_rels/.rels": related("officeDocument", "ppt/presentation.xml"),
		"ppt/presentation.xml": `<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst><p:sldId id="256" r:id="r1"/>` +
			`</p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels":  related("slide", "slides/slide1.xml"),
		"ppt/slides/slide1.xml":            `<p:sld xmlns:p="p"/>`,
		"ppt/slides/_rels/slide1.xml.rels": related("diagramData", "../diagrams/data1.xml"),
		"ppt/diagrams/data1.xml":           steps,
	})
	for name, c := range map[string]struct {
		data     []byte
		want     string
		warnings int
	}{
		"diagram.docx": {wordOf(drawn+para("Then send it."), map[string]string{
			"word/_rels/document.xml.rels": related("diagramData", "diagrams/data1.xml"), "word/diagrams/data1.xml": steps,
		}), "paragraph: The steps:\n" + listed + "paragraph: Then send it.\n", 0},
		"chunks.docx": {chunks, "paragraph: Before.\nheading2: Rates\nparagraph: Of a page.\nparagraph: Between.\n" +
			"paragraph: Of another file.\nparagraph: Of a text in it.\nparagraph: After.\n", 1},
		"diagram.pptx": {slide, strings.ReplaceAll("1 "+strings.TrimSuffix(listed, "\n"), "\n", "\n1 ") + "\n", 0},
	} {
		d, _, err := r.Read(t.Context(), Input{Name: name, Data: c.data})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		check(t, name, d)
		if got := outline(d); got != c.want || len(d.Warnings) != c.warnings {
			t.Errorf("%s: got\n%s\nwant\n%s%q", name, got, c.want, d.Warnings)
		}
	}
	// Files in files in files end.
	deep := wordOf(para("x"), nil)
	for range 6 {
		deep = wordOf(`<w:altChunk r:id="r1"/>`, map[string]string{
			"word/_rels/document.xml.rels": related("aFChunk", "in.docx"), "word/in.docx": string(deep),
		})
	}
	if _, _, err := r.Read(t.Context(), Input{Name: "deep.docx", Data: deep}); ReasonOf(err) != TooLarge {
		t.Errorf("six files in each other: %v", err)
	}
}
