package endpoints

import (
	"container/list"
	"slices"
	"sync"
)

// vectorCache keeps the vectors of the last questions; the least recently used goes first. Its methods may be called by
// several goroutines.
type vectorCache struct {
	mu      sync.Mutex
	most    int
	byText  map[string]*list.Element
	recency *list.List // of cachedVector, the most recent first
}

// cachedVector is the vector of a question.
type cachedVector struct {
	text   string
	vector []float32
}

// newVectorCache returns an empty cache for at most so many vectors.
func newVectorCache(most int) *vectorCache {
	return &vectorCache{most: most, byText: map[string]*list.Element{}, recency: list.New()}
}

// get returns a copy of the vector of a question, and marks it as used; nil if it is not there.
func (c *vectorCache) get(text string) []float32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.byText[text]
	if at == nil {
		return nil
	}
	c.recency.MoveToFront(at)
	return slices.Clone(at.Value.(cachedVector).vector)
}

// put keeps a copy of the vector of a question, in the place of the least recently used one if there are too many.
func (c *vectorCache) put(text string, vector []float32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.byText[text]; at != nil {
		c.remove(at)
	}
	c.byText[text] = c.recency.PushFront(cachedVector{text, slices.Clone(vector)})
	for c.recency.Len() > c.most {
		c.remove(c.recency.Back())
	}
}

// clear removes all vectors.
func (c *vectorCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recency.Init()
	clear(c.byText)
}

// remove removes a vector. c.mu must be held.
func (c *vectorCache) remove(at *list.Element) {
	delete(c.byText, c.recency.Remove(at).(cachedVector).text)
}
