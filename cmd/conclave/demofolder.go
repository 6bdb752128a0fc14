package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"conclave/collection"
	"conclave/demo"
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
	passages, err := demo.Passages()
	_, _ = fmt.Fprintf(sum, "%+v\n%s", collection.NewWords(true), passages)
	return filepath.Join(demoRoot(cache), hex.EncodeToString(sum.Sum(nil)[:demoSum])), err
}

// demoSum is how many bytes of the sum are in a folder's name.
const demoSum = 8

// removeOldDemos removes the demo's collections of other versions, but for those to
// which a process writes. What cannot be removed is in nobody's way.
func removeOldDemos(cache provision.Cache, current string) {
	entries, _ := os.ReadDir(demoRoot(cache))
	for _, e := range entries {
		sum, err := hex.DecodeString(e.Name())
		if old := filepath.Join(demoRoot(cache), e.Name()); err == nil && len(sum) == demoSum && old != current {
			_ = provision.RemoveUnused(old)
		}
	}
}
