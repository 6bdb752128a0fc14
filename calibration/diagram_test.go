package calibration

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
)

// TestSVG reads the diagram back: it is XML, says what it is, and every bar,
// point and number is where the outcomes put it.
func TestSVG(t *testing.T) {
	all := outcomes(t, []float64{.05, .15, .95, 1, .55, .55, .1, 1.0000001}, "01110111")
	var out bytes.Buffer
	if err := WriteDiagram(&out, `wiki <dev> & "x"`, all); err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := WriteDiagram(&again, `wiki <dev> & "x"`, all); err != nil || again.String() != out.String() {
		t.Errorf("drawn twice, it differs (%v)", err)
	}
	type node struct {
		attributes map[string]string
		text       string
	}
	nodes := map[string][]*node{}
	decoder := xml.NewDecoder(&out)
	var open []*node
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			n := &node{attributes: map[string]string{}}
			for _, a := range x.Attr {
				n.attributes[a.Name.Local] = a.Value
			}
			nodes[x.Name.Local] = append(nodes[x.Name.Local], n)
			open = append(open, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].text += string(x)
			}
		}
	}
	root, title, desc := nodes["svg"][0], nodes["title"][0], nodes["desc"][0]
	if root.attributes["role"] != "img" || root.attributes["aria-labelledby"] != title.attributes["id"]+" "+desc.attributes["id"] {
		t.Errorf("the root is %v, title %v, desc %v", root.attributes, title.attributes, desc.attributes)
	}
	if title.text != `Reliability: wiki <dev> & "x"` {
		t.Errorf("title %q", title.text)
	}
	for _, part := range []string{"8 questions", "error 0.231", "From 0.9 to 1.0: 2 questions, mean confidence 0.975, accuracy 1.000."} {
		if !strings.Contains(desc.text, part) {
			t.Errorf("the description %q does not say %q", desc.text, part)
		}
	}
	if !strings.Contains(nodes["style"][0].text, "prefers-color-scheme: dark") {
		t.Error("it does not follow the reader's choice of dark")
	}

	number := func(n *node, name string) float64 {
		x, err := strconv.ParseFloat(n.attributes[name], 64)
		if err != nil {
			t.Fatalf("%s of %v: %v", name, n.attributes, err)
		}
		return x
	}
	// Bins 0, 1, 5, 9 have questions: 2 at 0.075 with half right, 1 at 0.15, 2
	// at 0.55 with half, 2 at 0.975.
	wantPoints := [][2]float64{{.075, .5}, {.15, 1}, {.55, .5}, {.975, 1}}
	if len(nodes["circle"]) != len(wantPoints) {
		t.Fatalf("%d points", len(nodes["circle"]))
	}
	for i, want := range wantPoints {
		c := nodes["circle"][i]
		near(t, "x of a point", number(c, "cx"), plotLeft+plotSide*want[0], .06)
		near(t, "y of a point", number(c, "cy"), plotTop+plotSide*(1-want[1]), .06)
	}
	var heights []float64
	for _, n := range nodes["rect"] {
		if n.attributes["class"] == "rd-bar" {
			ground := plotTop + plotSide // bars of accuracy and of numbers take turns
			if len(heights)%2 == 1 {
				ground = countsTop + countsHeight
			}
			near(t, "the foot of a bar", number(n, "y")+number(n, "height"), ground, .11)
			heights = append(heights, number(n, "height"))
			if right := number(n, "x") + number(n, "width"); right > diagramWidth || number(n, "y") < 0 {
				t.Errorf("the bar %v is off the page", n.attributes)
			}
		}
	}
	for i, want := range []float64{180, 60, 360, 30, 180, 60, 360, 60} {
		if i >= len(heights) || math.Abs(heights[i]-want) > .06 {
			t.Fatalf("bars are %v high", heights)
		}
	}
	for _, n := range nodes["text"] {
		if n.attributes["transform"] != "" {
			continue
		}
		if x, y := number(n, "x"), number(n, "y"); x < 0 || x > diagramWidth || y < 0 || y > diagramHeight {
			t.Errorf("%q is off the page, at %v %v", n.text, x, y)
		}
	}
}

// TestSVGContrast computes WCAG's contrast of every colour with its ground.
func TestSVGContrast(t *testing.T) {
	luminance := func(colour string) float64 {
		sum := 0.0
		for i, weight := range []float64{.2126, .7152, .0722} {
			n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			c := float64(n) / 255
			if c <= .04045 {
				c /= 12.92
			} else {
				c = math.Pow((c+.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	contrast := func(a, b string) float64 {
		x, y := luminance(a), luminance(b)
		return (max(x, y) + .05) / (min(x, y) + .05)
	}
	near(t, "contrast of black and white", contrast("#000000", "#ffffff"), 21, 1e-9)
	light, dark := schemes()
	for _, c := range []colours{light, dark} {
		if got := contrast(c.text, c.ground); got < 7 {
			t.Errorf("text %s on %s has a contrast of %.1f", c.text, c.ground, got)
		}
		if got := contrast(c.text, c.bar); got < 3 {
			t.Errorf("the diagonal %s on the bars %s has a contrast of %.1f", c.text, c.bar, got)
		}
		for _, colour := range []string{c.bar, c.line, c.mark} {
			if got := contrast(colour, c.ground); got < 3 {
				t.Errorf("%s on %s has a contrast of %.1f", colour, c.ground, got)
			}
		}
	}
}

func TestSVGLongTitle(t *testing.T) {
	all := outcomes(t, []float64{.5}, "1")
	var out strings.Builder
	long := strings.Repeat("ä", 50)
	for _, title := range []string{long, long + "b"} {
		out.Reset()
		if err := WriteDiagram(&out, title, all); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "Reliability: "+title+"</title>") {
			t.Errorf("the title of %d letters is not whole", len([]rune(title)))
		}
		if cut := strings.Contains(out.String(), ">"+strings.Repeat("ä", 49)+"…</text>"); cut != (title != long) {
			t.Errorf("the heading of %d letters is cut: %v", len([]rune(title)), cut)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestSVGReportsFailure(t *testing.T) {
	all := outcomes(t, []float64{.5}, "1")
	if err := WriteDiagram(full{}, "x", all); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a full disk: %v", err)
	}
}
