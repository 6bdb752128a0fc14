package demo

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"example.org/conclave/configs"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/provision"
	"example.org/conclave/models"
	"example.org/conclave/shipped"
	"example.org/conclave/store/folder"
)

// root returns where the demo's collections lie.
func root(cache provision.Cache) string { return filepath.Join(cache.Root, "demo") }

// Experts returns the base encoder and the experts of these names, as setup made them: in
// 8 bits, or in full precision, which a GPU runs faster.
func Experts(cache provision.Cache, names []string, full bool) []configs.Expert {
	var all []configs.Expert
	for _, name := range append([]string{shipped.Base}, names...) {
		bundle := cache.Bundle(name)
		if full {
			bundle = cache.Bundle(shipped.InFull(name))
		}
		all = append(all, configs.Expert{Name: name, Bundle: bundle})
	}
	return all
}

// Folder returns where the demo's collection for these experts lies, beside the
// base encoder's: under a name that changes with the corpus, with every
// encoder and with how words are indexed, so that an old one is never taken for the new.
func Folder(cache provision.Cache, experts []configs.Expert) (string, error) {
	sum := sha256.New()
	for _, x := range experts {
		bundle, err := models.Peek(x.Bundle)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(sum, "%s %s\n", x.Name, bundle.Fingerprint(models.Passage))
	}
	passages, err := Passages()
	_, _ = fmt.Fprintf(sum, "%+v\n%s", folder.UnicodeWords(), passages)
	return filepath.Join(root(cache), hex.EncodeToString(sum.Sum(nil)[:sumBytes])), err
}

// Found returns the folder of the demo's collection with the default experts in 8 bits; "" if
// there is none.
func Found(cache provision.Cache) string {
	at, err := Folder(cache, Experts(cache, []string{shipped.Late}, false))
	if err != nil {
		return ""
	}
	if info, err := os.Stat(at); err != nil || !info.IsDir() {
		return ""
	}
	return at
}

// sumBytes is how many bytes of the sum are in a folder's name.
const sumBytes = 8

// MakeRoom makes the folder that a collection of Folder lies in, and removes the demo's
// collections of other versions, except those to which a process writes. A folder that
// cannot be removed does no harm.
func MakeRoom(cache provision.Cache, current string) error {
	entries, _ := os.ReadDir(root(cache))
	for _, e := range entries {
		sum, err := hex.DecodeString(e.Name())
		if old := filepath.Join(root(cache), e.Name()); err == nil && len(sum) == sumBytes && old != current {
			_ = provision.RemoveUnused(old)
		}
	}
	return provision.ExplainFull(disk.MkdirAll(root(cache), 0o755), cache.Root)
}
