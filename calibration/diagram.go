package calibration

import (
	"encoding/xml"
	"fmt"
	"hash/fnv"
	"io"
	"strings"
)

// The diagram's measures, in pixels: a square plot of accuracy against
// confidence, and under it how many questions each bin holds.
const (
	diagramWidth  = 460
	diagramHeight = 560
	plotLeft      = 60.0
	plotTop       = 64.0
	plotSide      = 360.0
	countsTop     = plotTop + plotSide + 44
	countsHeight  = 60.0
)

// schemes are the colours, light and dark. Text has a contrast of at least 7 to
// 1 with the ground, everything else of at least 3 to 1, and so has the
// diagonal, which has the text's colour, with the bars that it crosses (WCAG
// 2.2, 1.4.6 and 1.4.11).
func schemes() (light, dark colours) {
	return colours{ground: "#ffffff", text: "#1b1b1b", bar: "#4f8ac9", line: "#6b6b6b", mark: "#a8321e"},
		colours{ground: "#161a1f", text: "#f2f2f2", bar: "#3f78b5", line: "#a6a6a6", mark: "#ffb454"}
}

type colours struct{ ground, text, bar, line, mark string }

func (c colours) style() string {
	return fmt.Sprintf(".rd-ground{fill:%s}.rd-text{fill:%s}.rd-bar{fill:%s}.rd-line{stroke:%s}.rd-diagonal{stroke:%s;stroke-width:1.5;stroke-dasharray:5 4}.rd-mark{fill:%s;stroke:%s}",
		c.ground, c.text, c.bar, c.line, c.text, c.mark, c.ground)
}

// bin holds the outcomes whose confidences lie in one tenth of 0 to 1.
type bin struct {
	low, high            float64
	questions            int
	accuracy, confidence float64 // means
}

// binned are the outcomes of each bin; a bin without any is left out.
func binned(outcomes []Outcome) (bins []bin) {
	for i := range Bins {
		b := bin{low: edge(i), high: edge(i + 1)}
		for _, o := range outcomes {
			if binOf(o.Confidence) == i {
				b.questions++
				b.accuracy += o.correct()
				b.confidence += o.Confidence
			}
		}
		if b.questions > 0 {
			b.accuracy /= float64(b.questions)
			b.confidence /= float64(b.questions)
			bins = append(bins, b)
		}
	}
	return bins
}

// WriteDiagram draws the reliability diagram of outcomes: a bar as high as the accuracy of
// each bin, a point at the bin's mean confidence, the diagonal on which they
// all would lie, and the number of questions in each bin. It follows the
// reader's choice of light or dark, and has a title and a description in
// words for those who do not see it. The same diagram gives the same bytes.
func WriteDiagram(w io.Writer, title string, outcomes []Outcome) error {
	bins := binned(outcomes)
	var svg strings.Builder
	name := fnv.New32a() // several diagrams on one page need ids of their own
	_, _ = fmt.Fprint(name, title, bins)
	light, dark := schemes()
	id := fmt.Sprintf("rd-%08x", name.Sum32())
	put := func(format string, values ...any) { fmt.Fprintf(&svg, format+"\n", values...) }

	put(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="%s-title %s-desc" font-family="system-ui, sans-serif" font-size="12">`,
		diagramWidth, diagramHeight, diagramWidth, diagramHeight, id, id)
	put(`<title id="%s-title">%s</title>`, id, escaped("Reliability: "+title))
	put(`<desc id="%s-desc">%s</desc>`, id, escaped(described(outcomes, bins)))
	put(`<style>%s@media (prefers-color-scheme: dark){%s}</style>`, light.style(), dark.style())
	put(`<rect class="rd-ground" width="%d" height="%d"/>`, diagramWidth, diagramHeight)
	text := func(x, y float64, anchor, content string) {
		put(`<text class="rd-text" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, y, anchor, escaped(content))
	}
	put(`<text class="rd-text" x="18" y="24" font-size="15" font-weight="600">%s</text>`, escaped(shortened(title)))
	text(18, 46, "start", fmt.Sprintf("ECE %.3f · accuracy %.3f · %d questions", ECE(outcomes), AccuracyAt(outcomes, 1), len(outcomes)))

	across := func(x float64) float64 { return plotLeft + plotSide*min(max(x, 0), 1) }
	up := func(y float64) float64 { return plotTop + plotSide*(1-y) }
	most := 1
	for _, b := range bins {
		most = max(most, b.questions)
	}
	for _, b := range bins {
		left, width := across(b.low)+1, plotSide/Bins-2
		put(`<rect class="rd-bar" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, left, up(b.accuracy), width, plotSide*b.accuracy)
		high := countsHeight * float64(b.questions) / float64(most)
		put(`<rect class="rd-bar" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, left, countsTop+countsHeight-high, width, high)
		text(left+width/2, countsTop+countsHeight-high-3, "middle", fmt.Sprint(b.questions))
	}
	line := func(class string, x1, y1, x2, y2 float64) {
		put(`<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
	}
	line("rd-diagonal", across(0), up(0), across(1), up(1))
	line("rd-line", across(0), up(0), across(1), up(0))
	line("rd-line", across(0), up(0), across(0), up(1))
	line("rd-line", across(0), countsTop+countsHeight, across(1), countsTop+countsHeight)
	for _, b := range bins {
		put(`<circle class="rd-mark" cx="%.1f" cy="%.1f" r="4.5"/>`, across(b.confidence), up(b.accuracy))
	}
	for i := 0; i <= Bins; i += 2 {
		tick := float64(i) / Bins
		text(across(tick), up(0)+16, "middle", fmt.Sprintf("%.1f", tick))
		text(plotLeft-8, up(tick)+4, "end", fmt.Sprintf("%.1f", tick))
	}
	text(across(0.5), countsTop+countsHeight+20, "middle", "confidence (points: mean of the bin) and questions in each bin")
	put(`<text class="rd-text" transform="translate(18 %.1f) rotate(-90)" text-anchor="middle">accuracy</text>`, up(0.5))
	put(`</svg>`)
	_, err := io.WriteString(w, svg.String())
	return err
}

// described says in words what the diagram shows.
func described(outcomes []Outcome, bins []bin) string {
	var d strings.Builder
	fmt.Fprintf(&d, "Accuracy against confidence for %d questions in %d bins. Expected calibration error %.3f, accuracy %.3f.",
		len(outcomes), Bins, ECE(outcomes), AccuracyAt(outcomes, 1))
	for _, b := range bins {
		fmt.Fprintf(&d, " From %.1f to %.1f: %d questions, mean confidence %.3f, accuracy %.3f.", b.low, b.high, b.questions, b.confidence, b.accuracy)
	}
	return d.String()
}

// shortened is a title that fits the width; the whole is in the title element.
func shortened(title string) string {
	const most = 50
	if letters := []rune(title); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return title
}

// escaped is text for XML.
func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}
