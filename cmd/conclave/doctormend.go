package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"conclave/configs"
	"conclave/encoder"
	shipped "conclave/experts"
	"conclave/provision"
	"conclave/serving"
)

// wantedExpertNames are the experts that the configuration names and those of
// its collection: all that serving it needs.
func wantedExpertNames(config configs.Config) []string {
	var names []string
	for _, x := range config.Experts {
		names = append(names, x.Name)
	}
	has, err := collectionExperts(config.Collection)
	if err != nil {
		return names // told by the collection's own line
	}
	for _, x := range has {
		names = append(names, x.Name)
	}
	return names
}

// mendRuntime is what brings back a library that cannot be loaded.
func mendRuntime(config configs.Config) string {
	setup := "conclave setup"
	if serving.Strongest(config) == encoder.CUDA {
		setup = "conclave setup --provider cuda"
	}
	if config.Runtime != "" {
		return fmt.Sprintf("name a libonnxruntime of release 1.24 or newer as runtime (now %s), or leave runtime out and %s", config.Runtime, setup)
	}
	return setup
}

// mendBundle is what brings back a bundle; folder is where a broken one is.
func mendBundle(config configs.Config, cache provision.Cache, name, folder string) string {
	made := name == shipped.Base || slices.Contains(shipped.Names(), name)
	switch {
	case made && (folder == "" || filepath.Dir(folder) == filepath.Dir(cache.Bundle(name))):
		return "conclave setup"
	case made:
		return fmt.Sprintf("import it into %s again, or remove that folder and conclave setup", folder)
	case folder == "":
		folder = filepath.Join(config.Bundles, name)
	}
	return "conclave models import CHECKPOINT --out " + folder
}

// mendCollection is what brings back a collection that cannot be opened.
func mendCollection(folder string, err error) string {
	if hints := hintsOf(err); len(hints) > 0 {
		return strings.Join(hints, "; ")
	}
	return fmt.Sprintf("put a snapshot in its place, or conclave index --collection NEW --in FILE; conclave verify --collection %s says what is damaged", folder)
}
