package documents

import (
	"cmp"
	"math"
	"slices"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

// pdfRule is a straight horizontal or vertical line drawn on a page, or an edge of a rectangle.
type pdfRule struct {
	Left, Bottom, Right, Top float64
}

// Bounds of what is read of a page's drawings. Beyond them a page is a map or the like, whose lines say nothing
// of tables.
const (
	mostObjects  = 20000
	mostSegments = 20000
	mostRules    = 3000
	thinRule     = 2.5  // points: how thick a rectangle is at most that is drawn in place of a line
	shortRule    = 6.0  // points: what is shorter is part of a letter or an icon
	sameLine     = 0.75 // points: rules whose distance is at most that lie on one line
)

// ruleReader collects the rules of a page from its drawing objects.
type ruleReader struct {
	p        pdfium.Pdfium
	page     pdfPage
	segments int
	rules    []pdfRule
}

// readRules returns the straight lines drawn on a page, in its points; nil if there are none, PDFium fails, or
// there are so many that the page is a drawing. page has its size and place.
func readRules(p pdfium.Pdfium, loaded references.FPDF_PAGE, page pdfPage) []pdfRule {
	by := requests.Page{ByReference: &loaded}
	count, err := p.FPDFPage_CountObjects(&requests.FPDFPage_CountObjects{Page: by})
	if err != nil || count.Count > mostObjects {
		return nil
	}
	r := &ruleReader{p: p, page: page}
	for i := range count.Count {
		object, err := p.FPDFPage_GetObject(&requests.FPDFPage_GetObject{Page: by, Index: i})
		if err != nil {
			continue
		}
		r.read(object.PageObject, identity, 0)
		if r.segments > mostSegments || len(r.rules) > mostRules {
			return nil
		}
	}
	return r.rules
}

// matrix is a transformation of coordinates: x' = a·x + c·y + e, y' = b·x + d·y + f.
type matrix struct{ a, b, c, d, e, f float64 }

// identity leaves coordinates as they are.
var identity = matrix{a: 1, d: 1}

// apply returns the transformed coordinates of the point x, y.
func (m matrix) apply(x, y float64) (float64, float64) {
	return m.a*x + m.c*y + m.e, m.b*x + m.d*y + m.f
}

// over returns the transformation that applies m first and then outer.
func (m matrix) over(outer matrix) matrix {
	return matrix{
		a: outer.a*m.a + outer.c*m.b, b: outer.b*m.a + outer.d*m.b,
		c: outer.a*m.c + outer.c*m.d, d: outer.b*m.c + outer.d*m.d,
		e: outer.a*m.e + outer.c*m.f + outer.e, f: outer.b*m.e + outer.d*m.f + outer.f,
	}
}

// matrixOf returns the transformation from an object's own coordinates to those around it; identity if PDFium has none.
func (r *ruleReader) matrixOf(object references.FPDF_PAGEOBJECT) matrix {
	got, err := r.p.FPDFPageObj_GetMatrix(&requests.FPDFPageObj_GetMatrix{PageObject: object})
	if err != nil {
		return identity
	}
	m := got.Matrix
	return matrix{float64(m.A), float64(m.B), float64(m.C), float64(m.D), float64(m.E), float64(m.F)}
}

// read adds the rules of a path, or of the objects inside a form object, to r.rules, and counts their segments.
// outer transforms the coordinates around the object to those of the page. depth is how many form objects are
// around it: more than three levels, and objects that PDFium cannot read, are skipped.
func (r *ruleReader) read(object references.FPDF_PAGEOBJECT, outer matrix, depth int) {
	kind, err := r.p.FPDFPageObj_GetType(&requests.FPDFPageObj_GetType{PageObject: object})
	if err != nil {
		return
	}
	switch kind.Type {
	case enums.FPDF_PAGEOBJ_PATH:
		r.readPath(object, r.matrixOf(object).over(outer))
	case enums.FPDF_PAGEOBJ_FORM:
		count, err := r.p.FPDFFormObj_CountObjects(&requests.FPDFFormObj_CountObjects{PageObject: object})
		if err != nil || depth > 2 {
			return
		}
		inner := r.matrixOf(object).over(outer)
		for i := range min(count.Count, mostObjects) {
			part, err := r.p.FPDFFormObj_GetObject(
				&requests.FPDFFormObj_GetObject{PageObject: object, Index: uint64(i)},
			)
			if err != nil {
				continue
			}
			r.read(part.PageObject, inner, depth+1)
			r.segments++
			if r.segments > mostSegments {
				return
			}
		}
	}
}

// readPath adds the straight lines of a path to r.rules; m transforms its coordinates to those of the page. Curves
// are skipped, and so is the whole path if the page has more than mostSegments segments with it. If PDFium fails,
// the lines before stay.
func (r *ruleReader) readPath(object references.FPDF_PAGEOBJECT, m matrix) {
	count, err := r.p.FPDFPath_CountSegments(&requests.FPDFPath_CountSegments{PageObject: object})
	if err != nil {
		return
	}
	r.segments += count.Count
	if r.segments > mostSegments {
		return
	}
	var x, y, startX, startY float64
	var corners [][2]float64
	end := func() {
		r.addShape(corners)
		corners = corners[:0]
	}
	for i := range count.Count {
		segment, err := r.p.FPDFPath_GetPathSegment(&requests.FPDFPath_GetPathSegment{PageObject: object, Index: i})
		if err != nil {
			return
		}
		kind, err := r.p.FPDFPathSegment_GetType(&requests.FPDFPathSegment_GetType{PathSegment: segment.PathSegment})
		if err != nil {
			return
		}
		point, err := r.p.FPDFPathSegment_GetPoint(&requests.FPDFPathSegment_GetPoint{PathSegment: segment.PathSegment})
		if err != nil {
			return
		}
		x, y = r.page.place(m.apply(float64(point.X), float64(point.Y)))
		switch kind.Type {
		case enums.FPDF_SEGMENT_MOVETO:
			end()
			startX, startY = x, y
		case enums.FPDF_SEGMENT_LINETO:
		default:
			end()
			startX, startY = math.NaN(), math.NaN()
		}
		corners = append(corners, [2]float64{x, y})
		closed, err := r.p.FPDFPathSegment_GetClose(
			&requests.FPDFPathSegment_GetClose{PathSegment: segment.PathSegment},
		)
		if err == nil && closed.IsClose && !math.IsNaN(startX) {
			corners = append(corners, [2]float64{startX, startY})
		}
	}
	end()
}

// addShape adds the horizontal and vertical edges of a line or polygon, given by its corners, to r.rules. A thin
// rectangle counts as one rule, and one that covers the page as none. Edges shorter than shortRule are left out.
func (r *ruleReader) addShape(corners [][2]float64) {
	if len(corners) < 2 {
		return
	}
	box := pdfRule{Left: math.Inf(1), Bottom: math.Inf(1), Right: math.Inf(-1), Top: math.Inf(-1)}
	for _, c := range corners {
		box.Left, box.Right = min(box.Left, c[0]), max(box.Right, c[0])
		box.Bottom, box.Top = min(box.Bottom, c[1]), max(box.Top, c[1])
	}
	width, height := box.Right-box.Left, box.Top-box.Bottom
	switch {
	case width > 0.95*r.page.Width && height > 0.95*r.page.Height: // the page's ground
	case height <= thinRule && width >= shortRule:
		middle := (box.Bottom + box.Top) / 2
		r.rules = append(r.rules, pdfRule{box.Left, middle, box.Right, middle})
	case width <= thinRule && height >= shortRule:
		middle := (box.Left + box.Right) / 2
		r.rules = append(r.rules, pdfRule{middle, box.Bottom, middle, box.Top})
	default:
		for i, c := range corners[1:] {
			before := corners[i]
			dx, dy := math.Abs(c[0]-before[0]), math.Abs(c[1]-before[1])
			if dx >= shortRule && dy < 0.5 || dy >= shortRule && dx < 0.5 {
				r.rules = append(r.rules, pdfRule{
					min(c[0], before[0]), min(c[1], before[1]), max(c[0], before[0]), max(c[1], before[1]),
				})
			}
		}
	}
}

// splitRules returns the horizontal and the vertical rules, sorted by their place, each joined with the rules that
// continue it. It does not change rules.
func splitRules(rules []pdfRule) (horizontal, vertical []pdfRule) {
	for _, r := range rules {
		if r.Right-r.Left >= r.Top-r.Bottom {
			horizontal = append(horizontal, r)
		} else {
			vertical = append(vertical, r)
		}
	}
	horizontal = joinRules(horizontal, func(r *pdfRule) (across, from, to *float64) {
		return &r.Bottom, &r.Left, &r.Right
	})
	vertical = joinRules(vertical, func(r *pdfRule) (across, from, to *float64) { return &r.Left, &r.Bottom, &r.Top })
	return horizontal, vertical
}

// joinRules returns the rules, with each group that lies on one line and touches or overlaps joined to one, such as
// the edges of cells that are drawn one by one. parts returns pointers to a rule's coordinates: across, which all
// its points share, and from and to, its ends. It sorts rules in place.
func joinRules(rules []pdfRule, parts func(*pdfRule) (across, from, to *float64)) []pdfRule {
	slices.SortFunc(rules, func(a, b pdfRule) int {
		acrossA, fromA, _ := parts(&a)
		acrossB, fromB, _ := parts(&b)
		return cmp.Or(cmp.Compare(*acrossA, *acrossB), cmp.Compare(*fromA, *fromB))
	})
	var joined []pdfRule
	for _, r := range rules {
		across, from, to := parts(&r)
		// Rules on one line may differ by less than a point, and then those of the next line come between.
		at := -1
		for k := len(joined) - 1; k >= 0; k-- {
			a, f, t := parts(&joined[k])
			if *across-*a > sameLine {
				break
			}
			if *from <= *t+touching && *f <= *to+touching {
				at = k
				break
			}
		}
		if at < 0 {
			joined = append(joined, r)
			continue
		}
		_, f, t := parts(&joined[at])
		*f, *t = min(*f, *from), max(*t, *to)
	}
	return joined
}
