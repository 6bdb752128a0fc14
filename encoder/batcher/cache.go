package batcher

import (
	"container/list"
	"sync"
)

// vectorCache keeps the vectors of the last questions, the least recently
// used going first. Its vectors are shared with its callers and never
// written.
type vectorCache struct {
	mu      sync.Mutex
	limit   int
	byKey   map[string]*list.Element
	recency *list.List // of cached, most recent first
}

type cached struct {
	key    string
	vector []float32
}

// newVectorCache holds up to limit vectors; with 0 it holds none.
func newVectorCache(limit int) *vectorCache {
	return &vectorCache{limit: limit, byKey: make(map[string]*list.Element), recency: list.New()}
}

func (c *vectorCache) get(key string) ([]float32, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.byKey[key]
	if !ok {
		return nil, false
	}
	c.recency.MoveToFront(element)
	return element.Value.(cached).vector, true
}

func (c *vectorCache) put(key string, vector []float32) {
	if c.limit <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.byKey[key]; ok {
		element.Value = cached{key, vector}
		c.recency.MoveToFront(element)
		return
	}
	if c.recency.Len() >= c.limit {
		last := c.recency.Back()
		delete(c.byKey, last.Value.(cached).key)
		c.recency.Remove(last)
	}
	c.byKey[key] = c.recency.PushFront(cached{key, vector})
}

func (c *vectorCache) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recency.Len()
}
