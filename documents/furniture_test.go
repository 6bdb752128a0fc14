package documents

import (
	"context"
	"strings"
	"testing"
)

// TestSectionsNamedByHeadings: a section whose id is made of its heading stays, whatever the words are; lists of links
// and what a class names go.
func TestSectionsNamedByHeadings(t *testing.T) {
	prose := strings.Repeat("The parameter sets the size of the cache that is used for fonts. ", 8)
	links := strings.Repeat(`<li><a href="/x">Another page of this site</a></li>`, 8)
	page := "<html><body><main><h1>Fonts</h1><p>" + prose + "</p>" +
		`<section id="font-related-parameters"><h2>Font-related parameters<a href="#x">¶</a></h2><p>KEPTONE ` + prose +
		`</p></section>` +
		`<section id="comments"><h2>Comments</h2><p>KEPTTWO begins with a hash sign. ` + prose + `</p></section>` +
		`<div class="sect2" id="SQL-IDENTIFIERS"><div><h3>Identifiers</h3></div>` + prose + `</div>` +
		`<div class="sect2" id="SQL-CONSTANTS"><div><h3>Constants</h3></div>` + prose + `</div>` +
		`<div class="sect2" id="SQL-FOR-SHARE"><div><h3>The locking clause</h3></div>KEPTTHREE ` + prose + `</div>` +
		`<div class="sect2" id="SQL-NAVIGATION"><div><h3>All pages</h3></div><ul>GONEFOUR ` + links + `</ul></div>` +
		`<aside class="footnote-list brackets"><aside class="footnote brackets" role="note">KEPTFOUR</aside></aside>` +
		`<aside class="note">GONEFIVE</aside>` +
		`<div id="related-pages"><h2>Related pages</h2><ul>GONEONE ` + links + `</ul></div>` +
		`<div id="comments-2" class="comments-area"><h2>Comments</h2><p>GONETWO ` + prose + `</p></div>` +
		`<div id="social"><p>GONETHREE ` + prose + `</p></div>` +
		"<p>" + strings.Repeat(prose, 6) + "</p></main></body></html>"
	d, _, err := NewExtractor(limits(), nil).Read(context.Background(), Input{Name: "a.html", Data: []byte(page)})
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]bool{
		"KEPTONE": true, "KEPTTWO": true, "GONEONE": false, "GONETWO": false, "GONETHREE": false,
		"KEPTTHREE": true, "KEPTFOUR": true, "GONEFOUR": false, "GONEFIVE": false,
	} {
		if strings.Contains(d.Text, word) != want {
			t.Errorf("%s is in the text: %t", word, !want)
		}
	}
}
