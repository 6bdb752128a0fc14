package conditions

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"example.org/conclave/internal/wording"
)

// MisfitError is the error of a condition with values that do not fit the fields that they are compared with. It has at
// least one problem.
type MisfitError struct{ Problems []Problem }

// Error returns the text of the first problem.
func (e *MisfitError) Error() string { return e.Problems[0].Detail }

// Misfit returns the problem of a comparison (Within) if its field has values, of the kinds in has, and none is of
// the comparison's kind; nil otherwise, and for a comparison of Unsaid.
func (n *Node) Misfit(has []Kind) []Problem {
	if n.At == "" || len(has) == 0 || slices.Contains(has, n.Test.Kind) {
		return nil
	}
	has = slices.Compact(slices.Sorted(slices.Values(has)))
	names := make([]string, len(has))
	for i, kind := range has {
		names[i] = kind.String()
	}
	return []Problem{{
		Code: "wrong_type", Pointer: n.At, Field: n.Field, Detail: fmt.Sprintf(
			"the field %s holds %s, and %s is compared with %v alone",
			wording.Quote(n.Field), strings.Join(names, " and "), wording.Shorten(n.Said), n.Test.Kind),
	}}
}

// LetsAll reports whether every passage meets the condition because it has no parts. Another condition may be met
// by all passages, too.
func (n *Node) LetsAll() bool { return n.Op == And && len(n.Nodes) == 0 }

// Unsaid returns a copy of the condition that is never a misfit (Misfit): for a condition that the caller did not
// write.
func (n *Node) Unsaid() Node {
	out := *n
	out.At = ""
	out.Nodes = nil
	for i := range n.Nodes {
		out.Nodes = append(out.Nodes, n.Nodes[i].Unsaid())
	}
	return out
}

// Parts returns the condition as a list of strings, for a cache's key: conditions with different meanings have
// different lists.
func (n *Node) Parts() []string { return n.appendParts(nil) }

// appendParts appends to out the strings of n and then those of the nodes below it, as Parts returns them.
func (n *Node) appendParts(out []string) []string {
	head := append([]byte{byte(n.Op), byte(n.Test.Kind)}, binary.LittleEndian.AppendUint64(nil, uint64(len(n.Nodes)))...)
	head = binary.LittleEndian.AppendUint64(head, n.Test.Low)
	head = binary.LittleEndian.AppendUint64(head, n.Test.High)
	out = append(out, string(head), n.Tag, n.Field, n.Test.From, n.Test.To)
	for i := range n.Nodes {
		out = n.Nodes[i].appendParts(out)
	}
	return out
}
