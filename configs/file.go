package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// reader puts values into a configuration: of the file, then of the environment,
// then of flags. It remembers where each was written.
type reader struct {
	config   *Config
	sources  map[string]string // key path, and "experts[1].name" inside lists
	mistakes []error
}

func newReader(c Config) *reader { return &reader{config: &c, sources: map[string]string{}} }

func (r *reader) fail(source, at, value, detail string) {
	r.mistakes = append(r.mistakes, &Error{Source: source, Key: at, Value: value, Detail: detail})
}

// text reads a scalar, and remembers its place.
func (r *reader) text(source, at, text string, v reflect.Value) {
	r.sources[at] = source
	if err := parse(text, v); err != nil {
		r.fail(source, at, text, "has to be "+err.Error())
	}
}

// file reads the YAML text of a configuration file. It walks the parsed
// document itself, and not a map that a decoder made of it, because only the
// document knows line numbers, keys written twice and the case of keys.
func (r *reader) file(name string, text []byte) error {
	document, second, err := readYAML(text)
	if err != nil {
		return fmt.Errorf("%s: not YAML: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if second != nil {
		r.fail(place(name, second), "the file", "", "a second YAML document begins here, after \"---\", and would be ignored: the configuration is one document")
	}
	if document != nil {
		r.section(name, "", document, reflect.ValueOf(r.config).Elem())
	}
	return errors.Join(r.mistakes...)
}

// readYAML parses a text. The document is nil where the text is empty, or
// comments alone; second is what a second document holds, nil where there is
// none.
func readYAML(text []byte) (document, second *yaml.Node, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for n := 0; ; n++ {
		var node yaml.Node
		if err := decoder.Decode(&node); errors.Is(err, io.EOF) {
			return document, nil, nil
		} else if err != nil {
			return nil, nil, err
		}
		if len(node.Content) == 0 {
			continue
		}
		content := node.Content[0]
		switch {
		case n == 0:
			document = content
		case content.Tag != "!!null":
			return document, content, nil
		}
	}
}

// section reads a mapping whose keys are the fields of v.
func (r *reader) section(file, path string, n *yaml.Node, v reflect.Value) {
	n = resolve(n)
	if n.Tag == "!!null" {
		return // "encoder:" with everything under it commented out
	}
	if n.Kind != yaml.MappingNode {
		shown := path
		if shown == "" {
			shown = "the file"
		}
		r.fail(place(file, n), shown, n.Value, "has to be keys with values, \"key: value\"")
		return
	}
	var names []string
	fields := map[string]int{}
	for i := range v.NumField() {
		if name := nameOf(v.Type().Field(i)); name != "-" {
			names = append(names, name)
			fields[name] = i
		}
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		at := join(path, name.Value)
		field, ok := fields[name.Value]
		switch {
		case !ok:
			r.fail(place(file, name), at, "", unknown("key", name.Value, names))
			continue
		case seen[name.Value] != 0:
			r.fail(place(file, name), at, "", fmt.Sprintf("written twice, first on line %d", seen[name.Value]))
			continue
		}
		seen[name.Value] = name.Line
		r.value(file, at, value, v.Field(field))
	}
}

// value reads a section, a list or a scalar.
func (r *reader) value(file, at string, n *yaml.Node, v reflect.Value) {
	n = resolve(n)
	switch source := place(file, n); {
	case isSection(v.Type()):
		r.sources[at] = source
		r.section(file, at, n, v)
	case n.Tag == "!!null": // the default stays
	case v.Kind() == reflect.Slice && n.Kind != yaml.SequenceNode:
		r.fail(source, at, n.Value, "has to be a list, \"- item\" on lines of their own or [a, b]")
	case v.Kind() == reflect.Slice:
		r.sources[at] = source
		v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
		for i, item := range n.Content {
			r.value(file, fmt.Sprintf("%s[%d]", at, i), item, v.Index(i))
		}
	case n.Kind != yaml.ScalarNode:
		r.fail(source, at, "", "has to be a single value, not a list or keys")
	default:
		r.text(source, at, n.Value, v)
	}
}

// resolve follows an alias (*name) to what it stands for. YAML forbids an
// alias inside its own anchor, and every value here is at most three deep.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func place(file string, n *yaml.Node) string {
	if n.Line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, n.Line)
}
