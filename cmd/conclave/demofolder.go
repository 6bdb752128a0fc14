package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"conclave/collection"
	"conclave/models"
	"conclave/provision"
)

// demoRoot is where the demo's collections lie.
func demoRoot(cache provision.Cache) string { return filepath.Join(cache.Root, "demo") }

// demoFolder is where the demo's collection for these experts lies, beside the
// base encoder's: under a name that changes with the corpus, with every
// encoder and with how words are indexed, so that an old one is never taken for the new.
func demoFolder(cache provision.Cache, names []string) (string, error) {
	sum := sha256.New()
	for _, x := range demoExperts(cache, names) {
		bundle, err := models.Peek(x.Bundle)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(sum, "%s %s\n", x.Name, bundle.Fingerprint(models.Passage))
	}
	_, _ = fmt.Fprintf(sum, "\n%+v\n", collection.NewWords(true))
	err := eachDemoFile(func(name string, data []byte) error {
		_, _ = fmt.Fprintf(sum, "\n%s %d\n", name, len(data))
		_, _ = sum.Write(data)
		return nil
	})
	return filepath.Join(demoRoot(cache), hex.EncodeToString(sum.Sum(nil))[:16]), err
}

// collectionName is that of demoFolder's folders.
var collectionName = regexp.MustCompile(`^[0-9a-f]{16}$`)

// holdDemo keeps other demos from removing the collection while this one uses
// it, and removes collections of other versions that no process uses. With own false, the collection is
// the user's and lies elsewhere. A cache that cannot be written is left as it
// is.
func holdDemo(ctx context.Context, cache provision.Cache, collection string, own bool) (release func(), err error) {
	if err := os.MkdirAll(demoRoot(cache), 0o755); err != nil {
		if own {
			return nil, err
		}
		return func() {}, nil
	}
	unlock, err := provision.LockFolder(ctx, demoRoot(cache))
	if err != nil {
		if own {
			return nil, err
		}
		return func() {}, nil
	}
	defer unlock()
	entries, err := os.ReadDir(demoRoot(cache))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		old := filepath.Join(demoRoot(cache), e.Name())
		if e.IsDir() && old != collection && collectionName.MatchString(e.Name()) {
			// What cannot be removed is in nobody's way.
			_, _ = provision.RemoveUnused(old)
		}
	}
	if !own {
		return func() {}, nil
	}
	if err := os.MkdirAll(collection, 0o700); err != nil {
		return nil, err
	}
	return provision.Hold(collection)
}
