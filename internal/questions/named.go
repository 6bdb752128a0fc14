package questions

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// Named returns the sources of files that are named as NAME=FILE, or without a name as FILE.
// Judgements and splits belong to the file of their name; those without a name belong to
// all files, of which judgements allow one.
func Named(files, judgements, splits []string, format Format) ([]File, error) {
	qrels, err := ByName("judgements", judgements)
	if err != nil {
		return nil, err
	}
	split, err := ByName("splits", splits)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{"": true}
	var out []File
	for _, file := range files {
		name, path := nameOf(file)
		used[name] = true
		out = append(out, File{Path: path, Domain: name, Format: format,
			Judgements: cmp.Or(qrels[name], qrels[""]), Split: cmp.Or(split[name], split[""])})
	}
	for _, given := range []map[string]string{qrels, split} {
		for _, name := range slices.Sorted(maps.Keys(given)) {
			if !used[name] {
				return nil, fmt.Errorf("there are no questions called %q: name their file, as in %s=FILE", name, name)
			}
		}
	}
	if qrels[""] != "" && len(out) > 1 {
		return nil, fmt.Errorf("the judgements %s belong to which questions? Name them, as in NAME=%[1]s", qrels[""])
	}
	return out, nil
}

// ByName returns values that are named as NAME=VALUE, or without a name, by their names.
// what they are is for the error where a name is given twice.
func ByName(what string, values []string) (map[string]string, error) {
	out := map[string]string{}
	for _, text := range values {
		name, value := nameOf(text)
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("%s are given twice for %q", what, name)
		}
		out[name] = value
	}
	return out, nil
}

// nameOf splits NAME=FILE. The path of a file that exists is not split, even if it has
// a = in it.
func nameOf(text string) (name, path string) {
	name, path, found := strings.Cut(text, "=")
	if !found || name == "" || strings.ContainsAny(name, `/\`) {
		return "", text
	}
	if _, err := os.Stat(text); err == nil {
		return "", text
	}
	return name, path
}
