package documents

import (
	"strings"
	"testing"
)

// readAs returns the blocks of a small file as "header » row", one a line, as they are written.
func readAs(t *testing.T, name, data string) string {
	t.Helper()
	d, _, err := NewExtractor(limits(), nil).Read(t.Context(), Input{Name: name, Data: []byte(data)})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var all []string
	for _, b := range d.Blocks {
		text := d.TextOf(b)
		if b.Header != "" {
			text = b.Header + " » " + text
		}
		all = append(all, text)
	}
	return strings.Join(all, "\n")
}

// TestHeadersOfTables: the names of columns stand above each row, however they are written, and a row of data is
// no name.
func TestHeadersOfTables(t *testing.T) {
	table := func(rows ...string) string {
		return "<table><tr><td>" + strings.ReplaceAll(strings.ReplaceAll(strings.Join(rows, "\n"), ",", "</td><td>"), "\n", "</td></tr>\n<tr><td>") + "</td></tr></table>"
	}
	for _, c := range []struct{ name, data, want string }{
		{"text.csv", "Name,City\nAda,Rome\nBob,Bern\n", "Name | City\nName | City » Ada | Rome\nName | City » Bob | Bern"},
		{"numbers.csv", "1,2\n3,4\n", "1 | 2\n3 | 4"},
		{"codes.csv", "A-1,tin\nA-2,oak\nA-3,tin\n", "A-1 | tin\nA-2 | oak\nA-3 | tin"},
		{"again.csv", "red,big\nblue,big\nred,small\n", "red | big\nblue | big\nred | small"},
		{"years.csv", "Plant,2021,2022\nA,1,2\nB,3,4\n", "Plant | 2021 | 2022\nPlant | 2021 | 2022 » A | 1 | 2\nPlant | 2021 | 2022 » B | 3 | 4"},
		{"sep.csv", "sep=;\r\nPart;Price\r\nbolt;1,20\r\n", "Part | Price\nPart | Price » bolt | 1,20"},
		{"tabs.csv", "\"sep=\t\"\nPart\tPrice\nbolt\t1,20\n", "Part | Price\nPart | Price » bolt | 1,20"},
		{"title.csv", "Sales of May\nPart;Price\nbolt;1,20\nnut;3,40\n", "Sales of May\nPart | Price\nPart | Price » bolt | 1,20\nPart | Price » nut | 3,40"},
		{
			"gaps.csv", "Region,2024,,2025,\n,Revenue,Cost,Revenue,Cost\nNorth,1,2,3,4\nSouth,5,6,7,8\n",
			"Region | 2024 › Revenue | 2024 › Cost | 2025 › Revenue | 2025 › Cost\n" +
				"Region | 2024 › Revenue | 2024 › Cost | 2025 › Revenue | 2025 › Cost » North | 1 | 2 | 3 | 4\n" +
				"Region | 2024 › Revenue | 2024 › Cost | 2025 › Revenue | 2025 › Cost » South | 5 | 6 | 7 | 8",
		},
		{"plain.html", table("Name,City,Team", "Ada,Rome,A", "Bob,Bern,B"), "Name | City | Team\nName | City | Team » Ada | Rome | A\nName | City | Team » Bob | Bern | B"},
		{"pairs.html", table("Name,Ada", "City,Rome", "Born,yes"), "Name | Ada\nCity | Rome\nBorn | yes"},
		{"years.html", table("Year,2021,2022", "A,1,2", "B,3,4"), "Year | 2021 | 2022\nYear | 2021 | 2022 » A | 1 | 2\nYear | 2021 | 2022 » B | 3 | 4"},
		{"column.html", table("Opened,1990", "Closed,1995"), "Opened | 1990\nClosed | 1995"},
		{
			"merged.html", `<table><tr><th rowspan=2>Region</th><th colspan=2>2024</th></tr><tr><th>Revenue</th><th>Cost</th></tr>
<tr><td rowspan=2>North</td><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></table>`,
			"Region | 2024 › Revenue | 2024 › Cost\nRegion | 2024 › Revenue | 2024 › Cost » North | 1 | 2\nRegion | 2024 › Revenue | 2024 › Cost » North | 3 | 4",
		},
	} {
		if got := readAs(t, c.name, c.data); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestPowersAndNotes: a raised 2 or 3 behind a word is a power, unless the document has a footnote with its number, or
// counts footnotes that are not in it. Other raised numbers there are marks.
func TestPowersAndNotes(t *testing.T) {
	const formula = "<p>The square of cosh<sup>2</sup> in metres<sup>3</sup>.</p>"
	for data, want := range map[string]string{
		formula: "The square of cosh^2 in metres^3.",
		formula + "<h2>2 Methods</h2><ol><li>One<li>Two</ol><p>End":           "The square of cosh^2 in metres^3.|2 Methods|1. One|2. Two|End",
		formula + "<p>Sales<sup>1</sup> rose.<p>1 Of pumps.":                  "The square of cosh^2 in metres^3.|Sales[1] rose.|1 Of pumps.",
		formula + "<p>Sales<sup>1</sup> rose.":                                "The square of cosh[2] in metres[3].|Sales[1] rose.",
		formula + "<p>They left.<sup>3</sup>":                                 "The square of cosh[2] in metres[3].|They left.[3]",
		formula + "<p><sup>2</sup> A function.":                               "The square of cosh[2] in metres^3.|2 A function.",
		formula + "<p><sup>2</sup>A function.":                                "The square of cosh[2] in metres^3.|2A function.",
		formula + "<p><sup>1</sup>Of pumps.<br><sup>2 </sup> A function.":     "The square of cosh[2] in metres^3.|1Of pumps. 2 A function.",
		formula + "<p>[2] A function.":                                        "The square of cosh[2] in metres^3.|[2] A function.",
		formula + "<ol><li>First<li>Second</ol>":                              "The square of cosh[2] in metres^3.|1. First|2. Second",
		formula + "<p>See Smith<sup>2,3</sup> and Jones<sup>12</sup>":         "The square of cosh[2] in metres[3].|See Smith[2,3] and Jones[12]",
		formula + "<p>Sales<sup><a href='#n'>1</a></sup> rose.":               "The square of cosh^2 in metres^3.|Sales[1] rose.",
		"<table><tr><th>Area metres<sup>2</sup><th>Sum<tr><td>5<td>6</table>": "Area metres^2 | Sum|Area metres^2 | Sum » 5 | 6",
	} {
		if got := strings.ReplaceAll(readAs(t, "a.html", data), "\n", "|"); strings.ReplaceAll(got, "||", "|") != want {
			t.Errorf("%s: %q, want %q", data, got, want)
		}
	}
	for data, want := range map[string]string{
		`{\rtf1 Of cosh{\super 2} it is.\par}`:                   "Of cosh^2 it is.",
		`{\rtf1 Of cosh{\super 2} it is.\par 2 A function.\par}`: "Of cosh[2] it is.\n2 A function.",
	} {
		if got := readAs(t, "a.rtf", data); got != want {
			t.Errorf("%s: %q, want %q", data, got, want)
		}
	}
}

// TestArrangedText: fractions, powers and indices are read as such, not as the digits of another number.
func TestArrangedText(t *testing.T) {
	for data, want := range map[string]string{
		"<p>10<sup>3</sup> mg":                                             "10^3 mg",
		"<p>5·10<sup>-3</sup> mol":                                         "5·10^-3 mol",
		"<p>2<sup>n+1</sup>":                                               "2^(n+1)",
		"<p>The 20<sup>th</sup> m<sup>2</sup>":                             "The 20th m^2",
		"<p>H<sub>2</sub>O, 10<sub>2</sub>":                                "H2O, 10_2",
		"<p><sup>1</sup>/<sub>2</sub> of 1<sup>1</sup>&frasl;<sub>4</sub>": "1/2 of 1 1⁄4",
		"<p>Note<sup><a href='#n1'>12</a></sup>":                           "Note[12]",
		"<p>Acme<sup>®</sup> <sup>1</sup>":                                 "Acme® 1",
		"<p>Take <math><mfrac><mn>1</mn><mn>2</mn></mfrac></math> now":     "Take 1/2 now",
		"<p>Take 1<math><mfrac><mn>1</mn><mn>4</mn></mfrac></math>":        "Take 1 1/4",
		"<p><math><semantics><mrow><msup><mi>x</mi><mn>2</mn></msup><mo>=</mo><mfrac><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow><msqrt><mi>b</mi></msqrt></mfrac></mrow><annotation>x^2</annotation></semantics></math>": "x^2 = (a + 1)/(√b)",
	} {
		if got := readAs(t, "a.html", data); got != want {
			t.Errorf("%s: %q, want %q", data, got, want)
		}
	}
}
