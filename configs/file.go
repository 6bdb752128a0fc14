package configs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// resolver puts values into a configuration: of the file, then of the environment, then
// of flags, each over what was there. It remembers where each was written.
type resolver struct {
	config   Config
	places   map[string]string // by path, of list items too
	mistakes []error
}

// addMistake adds a mistake in the value of the key at, with the place where the key is written; for a key that an item
// of a list lacks, the place of the item; "default" if it is not written.
func (r *resolver) addMistake(at string, value any, format string, args ...any) {
	place := r.places[at]
	if end := strings.LastIndex(at, "]"); place == "" && end > 0 {
		place = r.places[at[:end+1]]
	}
	r.mistakes = append(r.mistakes, &Error{
		Source: cmp.Or(
			place, "default",
		), Key: cmp.Or(at, "the file"), Value: fmt.Sprint(value), Detail: fmt.Sprintf(format, args...),
	})
}

// readFile sets the configuration from the YAML text of a file, and adds a mistake for each key that is unknown, there
// twice or of a wrong form. It returns an error only if the text is not YAML. It walks the parsed document itself,
// because only that knows lines, keys written twice, and scalars as their text.
func (r *resolver) readFile(name string, text []byte) error {
	all, err := yamlDocuments(text)
	if err != nil {
		return fmt.Errorf("%s: not YAML: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	for i, document := range all {
		if i == 0 {
			r.readValue(name, rootKey(&r.config), document)
		} else if document.Tag != "!!null" {
			r.places[""] = placeOf(name, document)
			r.addMistake("", "",
				"a second YAML document begins here, after \"---\", and would be ignored: the configuration is one document")
		}
	}
	return nil
}

// yamlDocuments returns the YAML documents in a text. It fails if the text is no YAML.
func yamlDocuments(text []byte) (all []*yaml.Node, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var node yaml.Node
		if err := decoder.Decode(&node); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, node.Content...)
	}
}

// readText sets a key from the text of a variable or a flag, which source names: a list of strings, or of
// names, is separated by commas, a list of objects is YAML.
func (r *resolver) readText(source string, k key, text string) {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	if k.isObjectList() {
		if all, err := yamlDocuments([]byte(text)); err == nil && len(all) == 1 {
			n = all[0]
		}
	}
	if k.isList() && (!k.isObjectList() || k.tag.Get("short") != "" && n.Kind == yaml.ScalarNode) {
		n = &yaml.Node{Kind: yaml.SequenceNode}
		for item := range strings.SplitSeq(text, ",") {
			item = strings.TrimSpace(item)
			if item != "" {
				n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: item})
			}
		}
	}
	r.readValue(source, k, n)
}

// readValue sets a section, a list or a scalar from a node. null changes nothing. It adds a mistake if the node does
// not fit the key.
func (r *resolver) readValue(source string, k key, n *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Tag == "!!null" {
		return // the default stays, as where everything under "encoder:" is commented out
	}
	r.places[k.path] = placeOf(source, n)
	switch {
	case k.isSection() && n.Kind == yaml.ScalarNode && k.tag.Get("short") != "":
		keys, _ := k.keysBelow()
		r.readValue(source, keys[k.tag.Get("short")], n)
	case k.isSection() && n.Kind != yaml.MappingNode:
		r.addMistake(k.path, n.Value, "has to be keys with values, \"key: value\"")
	case k.isSection():
		r.readSection(source, k, n.Content)
	case k.isList() && n.Kind != yaml.SequenceNode:
		r.addMistake(k.path, n.Value, "has to be a list, \"- item\" on lines of their own or [a, b]")
	case k.isList():
		k.value.Set(reflect.MakeSlice(k.value.Type(), len(n.Content), len(n.Content)))
		for i, item := range n.Content {
			r.readValue(source, k.itemAt(i), item)
		}
	case k.tag.Get("is") == "condition" && n.Kind == yaml.MappingNode:
		text, err := json.Marshal(plainValue(n))
		if err != nil {
			r.addMistake(k.path, "", "cannot be written as JSON: %v", err)
			return
		}
		k.value.SetString(string(text))
	case n.Kind != yaml.ScalarNode:
		r.addMistake(k.path, "", "has to be a single value, not a list or keys")
	default:
		if allowed, err := parseScalar(n.Value, k.value); err != nil {
			r.addMistake(k.path, n.Value, "has to be %s", allowed)
		}
	}
}

// plainValue returns the value of a node as encoding/json would return it; dates stay texts.
func plainValue(n *yaml.Node) any {
	switch n.Kind {
	case yaml.AliasNode:
		return plainValue(n.Alias)
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			out[n.Content[i].Value] = plainValue(n.Content[i+1])
		}
		return out
	case yaml.SequenceNode:
		out := []any{}
		for _, item := range n.Content {
			out = append(out, plainValue(item))
		}
		return out
	}
	var value any
	switch n.Tag {
	case "!!int", "!!float", "!!bool", "!!null":
		if n.Decode(&value) == nil {
			return value
		}
	}
	return n.Value
}

// readSection sets the keys of a section from a mapping, whose names and values come in turn. It adds a mistake for a
// name that is unknown or there twice.
func (r *resolver) readSection(source string, k key, pairs []*yaml.Node) {
	keys, names := k.keysBelow()
	lines := map[string]int{}
	for i := 0; i+1 < len(pairs); i += 2 {
		name := pairs[i].Value
		line := lines[pairs[i].Value]
		x, known := keys[name]
		if known && line == 0 {
			lines[name] = pairs[i].Line
			r.readValue(source, x, pairs[i+1])
			continue
		}
		at := strings.TrimPrefix(k.path+"."+name, ".")
		r.places[at] = placeOf(source, pairs[i])
		if known {
			r.addMistake(at, "", "written twice, first on line %d", line)
		} else {
			r.addMistake(at, "", "no such key.%s Known here: %s", didYouMean(name, names), strings.Join(names, ", "))
		}
	}
}

// placeOf returns the place of a node in a configuration file, such as "conclave.yaml:12"; only the file's name if the
// node has no line.
func placeOf(source string, n *yaml.Node) string {
	if n.Line == 0 {
		return source
	}
	return fmt.Sprintf("%s:%d", source, n.Line)
}

// YAML renders the effective configuration in the form of conclave.yaml; Load reads it back to the same Config. There
// are no secrets in it: keys are known by their SHA-256. It fails only if a value cannot be written.
func (cfg Config) YAML() ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(cfg), encoder.Close()); err != nil {
		return nil, fmt.Errorf("rendering the configuration: %w", err)
	}
	return out.Bytes(), nil
}
