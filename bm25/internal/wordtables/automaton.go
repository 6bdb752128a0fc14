package main

import (
	"fmt"
	"slices"
	"strings"
)

// classBits is the width of a class in the index of the automaton's table.
const classBits = 5

// A node adds a part of a regular expression to a machine of Thompson's kind,
// between two states.
type node func(m *nfa, from, to int)

type nfa struct {
	empty [][]int  // state → states reached without reading
	reads [][]edge // state → states reached by reading one code point
}

type edge struct {
	matches func(sets []string) bool
	to      int
}

func (m *nfa) state() int {
	m.empty = append(m.empty, nil)
	m.reads = append(m.reads, nil)
	return len(m.empty) - 1
}

// set matches one code point that is in any of the sets.
func set(names ...string) node {
	return read(func(sets []string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(sets, n) })
	})
}

// setBut matches one code point that is in the set and in none of the others.
func setBut(name string, others ...string) node {
	return read(func(sets []string) bool {
		return slices.Contains(sets, name) &&
			!slices.ContainsFunc(others, func(n string) bool { return slices.Contains(sets, n) })
	})
}

func read(matches func([]string) bool) node {
	return func(m *nfa, from, to int) { m.reads[from] = append(m.reads[from], edge{matches, to}) }
}

func seq(parts ...node) node {
	return func(m *nfa, from, to int) {
		for i, part := range parts {
			end := to
			if i < len(parts)-1 {
				end = m.state()
			}
			part(m, from, end)
			from = end
		}
	}
}

func alt(parts ...node) node {
	return func(m *nfa, from, to int) {
		for _, part := range parts {
			part(m, from, to)
		}
	}
}

func star(part node) node {
	return func(m *nfa, from, to int) {
		loop := m.state()
		m.empty[from] = append(m.empty[from], loop)
		m.empty[loop] = append(m.empty[loop], to)
		part(m, loop, loop)
	}
}

func plus(part node) node { return seq(part, star(part)) }

func opt(part node) node {
	return func(m *nfa, from, to int) {
		m.empty[from] = append(m.empty[from], to)
		part(m, from, to)
	}
}

// dfa is a deterministic machine over classes; state 0 is dead.
type dfa struct {
	next      [][]int
	accept    []bool
	start     int
	accepting int // after minimise: states from here on accept
}

// determinise is the subset construction, over the given classes.
func determinise(expression node, classes []string) *dfa {
	m := &nfa{}
	from, to := m.state(), m.state()
	// A part may loop on the state that it starts from, so each expression gets
	// states of its own around it.
	inner := m.state()
	m.empty[from] = append(m.empty[from], inner)
	expression(m, inner, to)

	sets := make([][]string, len(classes))
	for i, name := range classes {
		sets[i] = strings.Split(name, "+")
	}
	d := &dfa{next: [][]int{make([]int, len(classes))}, accept: []bool{false}}
	known := map[string]int{"[]": 0}
	var todo [][]int
	number := func(states []int) int {
		key := fmt.Sprint(states)
		if id, ok := known[key]; ok {
			return id
		}
		id := len(d.next)
		known[key] = id
		d.next = append(d.next, make([]int, len(classes)))
		d.accept = append(d.accept, slices.Contains(states, to))
		todo = append(todo, states)
		return id
	}
	d.start = number(m.close([]int{from}))
	for at := 1; len(todo) > 0; at++ {
		states := todo[0]
		todo = todo[1:]
		for class := range classes {
			var reached []int
			for _, s := range states {
				for _, e := range m.reads[s] {
					if e.matches(sets[class]) {
						reached = append(reached, e.to)
					}
				}
			}
			d.next[at][class] = number(m.close(reached))
		}
	}
	return d
}

// close adds what is reached without reading, and sorts.
func (m *nfa) close(states []int) []int {
	seen := map[int]bool{}
	var visit func(int)
	visit = func(s int) {
		if seen[s] {
			return
		}
		seen[s] = true
		for _, t := range m.empty[s] {
			visit(t)
		}
	}
	for _, s := range states {
		visit(s)
	}
	out := make([]int, 0, len(seen))
	for s := range seen {
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// minimise merges states that no input tells apart (Moore) and numbers the
// rest: dead, then those that do not accept, then those that do.
func minimise(d *dfa) *dfa {
	group := make([]int, len(d.next))
	for s := range group {
		if d.accept[s] {
			group[s] = 1
		}
	}
	for count := 2; ; {
		known := map[string]int{}
		refined := make([]int, len(group))
		for s, next := range d.next {
			key := fmt.Sprint(group[s])
			for _, t := range next {
				key += fmt.Sprint(" ", group[t])
			}
			id, ok := known[key]
			if !ok {
				id = len(known)
				known[key] = id
			}
			refined[s] = id
		}
		group = refined
		if len(known) == count {
			break
		}
		count = len(known)
	}

	names := make(map[int]int)
	order := []int{0}
	names[group[0]] = 0
	for _, wanted := range []bool{false, true} {
		if wanted {
			d.accepting = len(order)
		}
		for s := range d.next {
			if _, ok := names[group[s]]; !ok && d.accept[s] == wanted {
				names[group[s]] = len(order)
				order = append(order, s)
			}
		}
	}
	out := &dfa{start: names[group[d.start]], accepting: d.accepting}
	for _, s := range order {
		next := make([]int, len(d.next[s]))
		for class, t := range d.next[s] {
			next[class] = names[group[t]]
		}
		out.next = append(out.next, next)
	}
	return out
}
