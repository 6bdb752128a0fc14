package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// layer is one source of values: the file or the environment.
type layer struct {
	values   map[string]any    // key path → value of the key's type
	sources  map[string]string // key path, and "experts[1].name" inside lists → where it was written
	mistakes []error
}

func newLayer() *layer {
	return &layer{values: map[string]any{}, sources: map[string]string{}}
}

func (l *layer) fail(source, at, value, detail string) {
	l.mistakes = append(l.mistakes, &Error{Source: source, Key: at, Value: value, Detail: detail})
}

// readFile reads the YAML text of a configuration file. It walks the parsed
// document itself, and not a map that a decoder made of it, because only the
// document knows line numbers, keys written twice and the case of keys.
func readFile(name string, text []byte) (*layer, error) {
	document, second, err := readYAML(text)
	if err != nil {
		return nil, fmt.Errorf("%s: not YAML: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	l := newLayer()
	if second != nil {
		l.fail(place(name, second), "the file", "", "a second YAML document begins here, after \"---\", and would be ignored: the configuration is one document")
	}
	if document != nil {
		l.section(name, "", document, reflect.TypeFor[Config]())
	}
	return l, errors.Join(l.mistakes...)
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

// section reads a mapping whose keys are the fields of t.
func (l *layer) section(file, path string, n *yaml.Node, t reflect.Type) {
	n = resolve(n)
	if n.Tag == "!!null" {
		return // "encoder:" with everything under it commented out
	}
	shown := path
	if shown == "" {
		shown = "the file"
	}
	if n.Kind != yaml.MappingNode {
		l.fail(place(file, n), shown, n.Value, "has to be keys with values, \"key: value\"")
		return
	}
	names, fields := children(t)
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		at := join(path, name.Value)
		field, ok := fields[name.Value]
		switch {
		case !ok:
			l.fail(place(file, name), at, "", unknown("key", name.Value, names))
			continue
		case seen[name.Value] != 0:
			l.fail(place(file, name), at, "", fmt.Sprintf("written twice, first on line %d", seen[name.Value]))
			continue
		}
		seen[name.Value] = name.Line
		if section(field.Type) {
			l.section(file, at, value, field.Type)
			continue
		}
		if v, ok := l.value(file, at, value, field.Type); ok {
			l.values[at] = v
		}
	}
}

// value reads a leaf: a scalar, a list of strings or a list of objects.
func (l *layer) value(file, at string, n *yaml.Node, t reflect.Type) (any, bool) {
	n = resolve(n)
	l.sources[at] = place(file, n)
	if n.Tag == "!!null" {
		return nil, false // the default stays
	}
	if t.Kind() == reflect.Slice {
		return l.list(file, at, n, t)
	}
	if n.Kind != yaml.ScalarNode {
		l.fail(place(file, n), at, "", "has to be a single value, not a list or keys")
		return nil, false
	}
	v, err := parseScalar(t, n.Value)
	if err != nil {
		l.fail(place(file, n), at, n.Value, "has to be "+err.Error())
		return nil, false
	}
	return v, true
}

func (l *layer) list(file, at string, n *yaml.Node, t reflect.Type) (any, bool) {
	if n.Kind != yaml.SequenceNode {
		l.fail(place(file, n), at, n.Value, "has to be a list, \"- item\" on lines of their own or [a, b]")
		return nil, false
	}
	out := reflect.MakeSlice(t, len(n.Content), len(n.Content))
	whole := true
	for i, item := range n.Content {
		where := fmt.Sprintf("%s[%d]", at, i)
		if t.Elem().Kind() == reflect.Struct {
			inner := newLayer()
			inner.section(file, where, item, t.Elem())
			l.mistakes = append(l.mistakes, inner.mistakes...)
			whole = whole && len(inner.mistakes) == 0
			l.sources[where] = place(file, item)
			maps.Copy(l.sources, inner.sources)
			_, fields := children(t.Elem())
			for name, field := range fields {
				if v, ok := inner.values[where+"."+name]; ok {
					out.Index(i).FieldByIndex(field.Index).Set(reflect.ValueOf(v))
				}
			}
			continue
		}
		v, ok := l.value(file, where, item, t.Elem())
		if !ok {
			whole = false
			continue
		}
		out.Index(i).Set(reflect.ValueOf(v))
	}
	return out.Interface(), whole
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
