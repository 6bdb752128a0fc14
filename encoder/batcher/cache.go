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
	most    int // numbers in all vectors together; 0: any
	numbers int
	byKey   map[string]*list.Element
	recency *list.List // of cached, most recent first
}

type cacheEntry struct {
	key    string
	vector []float32
}

// newVectorCache returns a cache of up to limit vectors, with up to most numbers together (0: any). With a limit of 0
// it holds none.
func newVectorCache(limit, most int) *vectorCache {
	return &vectorCache{limit: limit, most: most, byKey: make(map[string]*list.Element), recency: list.New()}
}

// get returns the vector of a key, which must not be changed, and marks it as used now; false: it is not cached.
func (c *vectorCache) get(key string) ([]float32, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.byKey[key]
	if !ok {
		return nil, false
	}
	c.recency.MoveToFront(element)
	return element.Value.(cacheEntry).vector, true
}

// put adds a vector, which must not change any more, and removes the least recently used ones beyond the cache's
// limits. It replaces that of an equal key. It does nothing for a vector that is too large, or if the cache has no
// room at all.
func (c *vectorCache) put(key string, vector []float32) {
	if c.limit <= 0 || c.most > 0 && len(vector) > c.most {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.byKey[key]; ok {
		c.remove(element)
	}
	for c.recency.Len() >= c.limit || c.most > 0 && c.numbers+len(vector) > c.most {
		c.remove(c.recency.Back())
	}
	c.byKey[key] = c.recency.PushFront(cacheEntry{key, vector})
	c.numbers += len(vector)
}

// remove removes an element. c.mu must be held.
func (c *vectorCache) remove(element *list.Element) {
	old := c.recency.Remove(element).(cacheEntry)
	delete(c.byKey, old.key)
	c.numbers -= len(old.vector)
}

// len returns the number of cached vectors.
func (c *vectorCache) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recency.Len()
}
