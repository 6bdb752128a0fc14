package wordpiece

import (
	"strings"
	"sync"
)

// splitCache remembers how words that are not in the vocabulary were split.
//
// It has two generations: new entries go to the young one, and when that is
// full it becomes the old one and what was the old one is forgotten. A word
// found in the old generation moves to the young. That keeps what is used, is
// bounded, and unlike a list in order of use writes nothing for a word that
// is found, so that readers do not wait for each other.
type splitCache struct {
	mu         sync.RWMutex
	young, old map[string][]int32
	generation int // words in one generation
}

// longWord is the length in bytes above which a word is not kept. Longer words are
// rare in every language, and the cache's bytes stay bounded.
const longWord = 64

// newSplitCache returns an empty cache of up to two generations of this many words.
func newSplitCache(generation int) *splitCache {
	return &splitCache{young: make(map[string][]int32), generation: generation}
}

// get returns the pieces of a word, which must not be changed; false: it is not cached.
func (c *splitCache) get(word string) ([]int32, bool) {
	c.mu.RLock()
	pieces, ok := c.young[word]
	if ok {
		c.mu.RUnlock()
		return pieces, true
	}
	pieces, ok = c.old[word]
	c.mu.RUnlock()
	if ok {
		c.put(word, pieces)
	}
	return pieces, ok
}

// put caches the pieces of a word, which must not be changed afterwards. It does nothing for a word of more than
// longWord bytes. It copies the word, which is a part of a text that would otherwise stay in memory.
func (c *splitCache) put(word string, pieces []int32) {
	if len(word) > longWord {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.young) >= c.generation {
		c.old = c.young
		c.young = make(map[string][]int32, c.generation)
	}
	c.young[strings.Clone(word)] = pieces
}
