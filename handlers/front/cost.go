package front

import (
	"errors"
)

// Cost says what a request takes of the server while it is answered. It is stated where a route, an adapter or a tool
// is registered, by one of the functions below; the zero value is refused.
type Cost struct {
	Kind  CostKind
	bytes int // of the answer, in addition to those for which the engine takes memory
}

// CostKind says which of the functions below made a cost.
type CostKind int

// The kinds of cost. The zero value, unstated, is that of a Cost that no function below made.
const (
	unstated CostKind = iota
	KindProbing
	KindAnswering
	KindSearching
	KindConversing
	KindInParts
	KindStoring
)

// Probing returns the cost of health checks. They take no place, are answered under any load, and must need next to
// nothing.
func Probing() Cost { return Cost{Kind: KindProbing} }

// Answering returns the cost of a request that is answered from memory and indexes. It takes a place once all of the
// request was received, or as many as what it asks the engine for costs, until its answer is made, and memory for what
// the engine reads and for so many more bytes. Its time limit is the one that it asks for, at most Options.Timeout.
func Answering(bytes int) Cost { return Cost{KindAnswering, bytes} }

// Searching returns the cost of a request that may search. It is like Answering, but is refused before its body is read
// while no search would be admitted.
func Searching(bytes int) Cost { return Cost{KindSearching, bytes} }

// Conversing returns the cost of an answer in a conversation. It is like Searching, but a search that would be refused
// waits for its turn, for half of its time.
func Conversing(bytes int) Cost { return Cost{KindConversing, bytes} }

// AnsweringInParts returns the cost of a request that sends part of its answer before the next part is made. It is like
// Answering(0), but the time of sending does not count, so it has a clock instead of a deadline.
func AnsweringInParts() Cost { return Cost{Kind: KindInParts} }

// Storing returns the cost of a change. It is like Answering, but without a time limit: it ends with its caller or the
// server.
func Storing() Cost { return Cost{Kind: KindStoring} }

// errNoCost is the error of a Cost that no function above made, which is a mistake in the program.
var errNoCost = errors.New("it is not said what it costs")

// Check returns an error if the cost was not made by one of the functions above.
func (c Cost) Check() error {
	if c.Kind == unstated || c.bytes < 0 {
		return errNoCost
	}
	return nil
}
