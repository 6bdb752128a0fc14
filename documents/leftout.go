package documents

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// leftOut counts what is in an Office file beside its text and is not read. The zero value has counted nothing.
type leftOut struct {
	pictures int
	objects  map[string]int // embedded objects, by their program or kind
	comments int
	comment  string   // the first words of a comment
	formulas int      // cells with a formula and no value
	contents int      // tables of contents
	drawings []string // the texts of drawings
	repeats  int      // rows and cells that a file says to repeat more than mostRepeats times
	footers  map[string]bool
}

// addObject counts an embedded object by its program or kind, such as "Equation.3"; "" counts as "unknown". After
// mostWarnings kinds nothing is counted.
func (l *leftOut) addObject(kind string) {
	if l.objects == nil {
		l.objects = map[string]int{}
	}
	if kind == "" {
		kind = "unknown"
	}
	if len(l.objects) < mostWarnings {
		l.objects[cutShort(clean(kind), 60)]++
	}
}

// addComments counts so many comments in the margin. text is the beginning of them, for the warning, which uses
// that of the first call.
func (l *leftOut) addComments(count int, text string) {
	if l.comments == 0 {
		l.comment = clean(text)
	}
	l.comments += count
}

// addFooter counts a page header or footer. Each text counts once, and one without letters, such as a page number,
// not at all; no more than mostWarnings texts are counted.
func (l *leftOut) addFooter(text string) {
	if l.footers == nil {
		l.footers = map[string]bool{}
	}
	text = clean(text)
	if strings.ContainsFunc(text, unicode.IsLetter) && len(l.footers) < mostWarnings {
		l.footers[text] = true
	}
}

// addDrawing counts a drawing by its text, unless that is blank or mostWarnings drawings were counted.
func (l *leftOut) addDrawing(text string) {
	text = clean(text)
	if text != "" && len(l.drawings) < mostWarnings {
		l.drawings = append(l.drawings, text)
	}
}

// name adds a warning to w for each kind of content that was counted; none if nothing was.
func (l *leftOut) name(w *writer) {
	if len(l.footers) > 0 {
		texts := slices.Sorted(maps.Keys(l.footers))
		w.warn("%d headers and footers of pages were left out: %.80q", len(texts), texts[0])
	}
	if l.comments > 0 {
		quoted := ""
		if l.comment != "" {
			quoted = fmt.Sprintf(": %.80q", l.comment)
		}
		w.warn("%d comments in the margin were left out%s", l.comments, quoted)
	}
	if l.pictures > 0 {
		w.warn("%d pictures in it were left out", l.pictures)
	}
	if len(l.objects) > 0 {
		count := 0
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(l.objects)) {
			count += l.objects[kind]
			kinds = append(kinds, fmt.Sprintf("%.60q", kind))
		}
		w.warn("%d objects of other programs in it were left out: %s", count, strings.Join(kinds, ", "))
	}
	if len(l.drawings) > 0 {
		w.warn("the texts of %d drawings were left out: %.80q", len(l.drawings), l.drawings[0])
	}
	if l.contents > 0 {
		w.warn("%d tables of contents were left out", l.contents)
	}
	if l.repeats > 0 {
		w.warn("%d rows and cells are repeated more often than the %d times that are read", l.repeats, mostRepeats)
	}
	if l.formulas > 0 {
		w.warn("%d formulas have no value in the file: open and save it with a program for spreadsheets", l.formulas)
	}
}
