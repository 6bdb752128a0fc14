package documents

import (
	"strings"

	"golang.org/x/net/html"
)

// deepestFormula is how deep a formula may be nested. Deeper parts are written as plain text.
const deepestFormula = 64

// mathBelow returns a formula of MathML on one line: "1/2", "10^3", "√(x + 1)"; "" for annotations and nodes
// without text. depth is how deep n is in the formula, 0 for the outermost element; below deepestFormula the plain
// text is returned.
func mathBelow(n *html.Node, depth int) string {
	if n.Type == html.TextNode {
		return strings.Join(strings.Fields(n.Data), " ")
	}
	if n.Type != html.ElementNode || n.Data == "annotation" || n.Data == "annotation-xml" {
		return ""
	}
	if depth > deepestFormula {
		return textBelow(n)
	}
	var parts []string
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode || c.Type == html.TextNode && strings.TrimSpace(c.Data) != "" {
			parts = append(parts, mathBelow(c, depth+1))
		}
	}
	part := func(i int) string {
		if i < len(parts) {
			return parts[i]
		}
		return ""
	}
	switch n.Data {
	case "mfrac":
		return writeFraction(part(0), part(1))
	case "msup", "mover":
		return writePower(part(0), part(1))
	case "msub", "munder":
		return writeIndex(part(0), part(1))
	case "msubsup", "munderover":
		return writePower(writeIndex(part(0), part(1)), part(2))
	case "msqrt":
		return "√" + inParentheses(strings.Join(parts, ""))
	case "mroot":
		return writePower(inParentheses(part(0)), "1/"+part(1))
	case "mo":
		if o := part(0); len(parts) == 1 && strings.Contains("= + − < > ≤ ≥ ≠ ≈ → ± ∈ ≡ ⇒", o) {
			return " " + o + " "
		}
	case "mtr", "mlabeledtr":
		return strings.Join(parts, ", ")
	case "mtable":
		return strings.Join(parts, "; ")
	case "mtext":
		return " " + strings.Join(parts, " ") + " "
	}
	return strings.Join(parts, "")
}
