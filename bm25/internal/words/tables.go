package words

import (
	_ "embed"
	"fmt"
	"regexp/syntax"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// classesText has a line "first last set+set" for each range of code points that
// are in sets of the rules. Classes.java makes it from ICU.
//
//go:embed classes.txt
var classesText string

const (
	// direct is how many code points have their class in a table of their own; the
	// rest are found by bisection. It covers the alphabets of Europe and the general
	// punctuation.
	direct = 0x2100
	// classBits is the width of a class in a place of the automaton.
	classBits = 5
	// accepts marks a state of the automaton in which a word may end.
	accepts = 1 << 15
	// firstClass is the code point that stands for class 0 in the expression.
	firstClass = 0x100
)

// tables say which words a text has. They do not change.
type tables struct {
	low  [direct]uint8 // class of each code point below direct
	high []classRange  // of the others, in order
	// automaton holds, at a state plus a class, the next state, which is a multiple
	// of 1<<classBits, with accepts if a word may end there. Nothing leads on from
	// state 0.
	automaton []uint16
	sets      [][]string // of each class
}

// classRange gives a class to the code points from first to last.
type classRange struct {
	first, last rune
	class       uint8
}

// load makes the tables, in some milliseconds.
var load = sync.OnceValue(func() *tables {
	t := &tables{}
	classes := []string{""} // the sets of each class; class 0 is in none
	for line := range strings.Lines(classesText) {
		fields := strings.Fields(line)
		first, last := codePoint(fields[0]), codePoint(fields[1])
		class := slices.Index(classes, fields[2])
		if class < 0 {
			class = len(classes)
			classes = append(classes, fields[2])
		}
		for c := first; c <= last && c < direct; c++ {
			t.low[c] = uint8(class)
		}
		if last >= direct {
			t.high = append(t.high, classRange{first, last, uint8(class)})
		}
	}
	if len(classes) > 1<<classBits {
		panic(fmt.Sprintf("bm25/internal/words: %d classes do not fit in %d bits", len(classes), classBits))
	}
	t.automaton = automaton(expression(classes), len(classes))
	t.sets = splitSets(classes)
	return t
})

// codePoint returns the code point whose number hex is, in hexadecimal. It panics for other text: the embedded table
// is wrong then.
func codePoint(hex string) rune {
	c, err := strconv.ParseInt(hex, 16, 32)
	if err != nil {
		panic("bm25/internal/words: classes.txt: " + err.Error())
	}
	return rune(c)
}

// class returns the class of a code point; 0 if it is in no set.
func (t *tables) class(c rune) uint8 {
	if c < direct {
		return t.low[c]
	}
	i := sort.Search(len(t.high), func(i int) bool { return t.high[i].last >= c })
	if i < len(t.high) && t.high[i].first <= c {
		return t.high[i].class
	}
	return 0
}

// automaton returns the deterministic automaton of an expression over classes (tables.automaton), by the subset
// construction: a state is a set of instructions of the expression's program. The code point firstClass+n stands for
// class n in the expression. The first state is 1<<classBits. It panics if the expression is wrong.
func automaton(expression string, classes int) []uint16 {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		panic("bm25/internal/words: the word rules: " + err.Error())
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		panic("bm25/internal/words: the word rules: " + err.Error())
	}
	table := make([]uint16, 1<<classBits)
	known := map[string]uint16{"[]": 0}
	var states [][]uint32
	state := func(set []uint32) uint16 {
		slices.Sort(set)
		key := fmt.Sprint(set)
		id, ok := known[key]
		if !ok {
			id = uint16(len(table))
			if slices.ContainsFunc(set, func(at uint32) bool { return program.Inst[at].Op == syntax.InstMatch }) {
				id |= accepts
			}
			known[key] = id
			states, table = append(states, set), append(table, make([]uint16, 1<<classBits)...)
		}
		return id
	}
	state(reached(program, nil, uint32(program.Start)))
	for n := 0; n < len(states); n++ {
		for class := range classes {
			var next []uint32
			for _, at := range states[n] {
				if in := &program.Inst[at]; in.Op != syntax.InstMatch && in.MatchRune(rune(firstClass+class)) {
					next = reached(program, next, in.Out)
				}
			}
			to := state(next) // may move the table
			table[(n+1)<<classBits|class] = to
		}
	}
	return table
}

// reached returns set with the instructions added that the program comes to from at without reading: those that read,
// and the one that accepts.
func reached(program *syntax.Prog, set []uint32, at uint32) []uint32 {
	switch in := &program.Inst[at]; in.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		return reached(program, reached(program, set, in.Out), in.Arg)
	case syntax.InstCapture, syntax.InstNop:
		return reached(program, set, in.Out)
	}
	if slices.Contains(set, at) {
		return set
	}
	return append(set, at)
}
