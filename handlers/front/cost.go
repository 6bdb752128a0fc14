package front

import (
	"errors"
)

// Cost is what a request takes of the server while it is answered. Whoever registers a
// route, an adapter or a tool says it, by one of the functions below; the zero value is
// refused.
type Cost struct {
	Kind  CostKind
	bytes int // of the answer, beside what the engine takes room for
}

// CostKind tells costs apart by the function that states them.
type CostKind int

// The kinds. The zero value is that of a cost that nobody stated.
const (
	unstated CostKind = iota
	KindProbing
	KindAnswering
	KindSearching
	KindConversing
	KindInParts
	KindStoring
)

// Probing returns the cost of what tells how the server does. It is answered whatever else
// there is to do, and has to take next to nothing.
func Probing() Cost { return Cost{Kind: KindProbing} }

// Answering returns the cost of what is answered from what the server has. It takes a place
// as soon as all of the request is there, or as many as what it asks the engine for
// costs, until its answer is made. It takes room for what the engine reads and for so
// many bytes beside. It ends when its time is over: that which it asks for, and at the
// most Options.Timeout.
func Answering(bytes int) Cost { return Cost{KindAnswering, bytes} }

// Searching returns the cost of what may search: Answering, but that it is refused before its body
// is read while no search is admitted.
func Searching(bytes int) Cost { return Cost{KindSearching, bytes} }

// Conversing returns the cost of an answer in a conversation: Searching, but that a search that would be refused waits
// for its turn, for half of the time that it has.
func Conversing(bytes int) Cost { return Cost{KindConversing, bytes} }

// AnsweringInParts returns Answering(0) for what sends a part of its answer before the
// next is made: the time of sending does not count, so it has a clock instead of a
// deadline.
func AnsweringInParts() Cost { return Cost{Kind: KindInParts} }

// Storing returns the cost of a change: Answering, but that it may take as long as storing
// takes. It ends with its caller or with the server.
func Storing() Cost { return Cost{Kind: KindStoring} }

// errNoCost is a mistake in the program.
var errNoCost = errors.New("it is not said what it costs")

// Check refuses a cost that nobody stated.
func (c Cost) Check() error {
	if c.Kind == unstated || c.bytes < 0 {
		return errNoCost
	}
	return nil
}
