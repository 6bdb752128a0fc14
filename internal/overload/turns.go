package overload

import (
	"context"
	"slices"
	"sync"
)

// turns hands out the processors. Callers of one group, such as a collection, wait for each other in
// their order; groups take turns, so that one with many callers does not keep another one waiting.
type turns struct {
	mu      sync.Mutex
	free    int
	waiting map[string][]chan struct{} // by group, in their order; closed when it is one's turn
	order   []string                   // groups of which somebody waits, the next one first
}

func newTurns(processors int) turns {
	return turns{free: processors, waiting: map[string][]chan struct{}{}}
}

type groupKey struct{}

// WithGroup returns a context whose turns count as those of a group.
func WithGroup(ctx context.Context, group string) context.Context {
	return context.WithValue(ctx, groupKey{}, group)
}

func groupOf(ctx context.Context) string {
	group, _ := ctx.Value(groupKey{}).(string)
	return group
}

// take waits for a turn of a group, and returns ctx's error when that ends first.
func (t *turns) take(ctx context.Context, group string) error {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	if len(t.waiting[group]) == 0 {
		t.order = append(t.order, group)
	}
	t.waiting[group] = append(t.waiting[group], mine)
	t.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	at := slices.Index(t.waiting[group], mine)
	if at >= 0 {
		t.waiting[group] = slices.Delete(t.waiting[group], at, at+1)
		t.forget(group)
	}
	t.mu.Unlock()
	if at < 0 { // it had come by then
		t.giveBack()
	}
	return ctx.Err()
}

// giveBack gives a turn to whom it is due, or lets it be free.
func (t *turns) giveBack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.order) == 0 {
		t.free++
		return
	}
	group := t.order[0]
	t.order = append(t.order[1:], group) // behind the others
	next := t.waiting[group][0]
	t.waiting[group] = t.waiting[group][1:]
	t.forget(group)
	close(next)
}

// forget takes a group of which nobody waits out of the order. It expects that mu is held.
func (t *turns) forget(group string) {
	if len(t.waiting[group]) > 0 {
		return
	}
	delete(t.waiting, group)
	t.order = slices.DeleteFunc(t.order, func(g string) bool { return g == group })
}
