package questions

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// Named returns the files for arguments of the form NAME=FILE or FILE. Judgements and splits are joined to the file
// with their name; those without a name are joined to all files, and there may be only one such file of judgements. It
// fails if a name has no file, or is given twice.
func Named(files, judgements, splits []string, format Format) ([]QuestionFile, error) {
	qrels, err := ByName("judgements", judgements)
	if err != nil {
		return nil, err
	}
	split, err := ByName("splits", splits)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{"": true}
	var out []QuestionFile
	for _, file := range files {
		name, path := nameOf(file)
		used[name] = true
		out = append(out, QuestionFile{Path: path, Domain: name, Format: format,
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

// ByName returns the values of arguments of the form NAME=VALUE by their names; a plain VALUE, and one that is the
// path of a file with a = in it, has the name "". It fails if a name is given twice; what is the plural of what is
// given, for that error.
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

// nameOf returns the parts of NAME=FILE; name is "" for a plain FILE, and for the path of an existing file that has a =
// in it.
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
