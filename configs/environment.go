package configs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// prefix begins the name of every variable that conclave reads.
const prefix = "CONCLAVE_"

// variableFile names the configuration file.
const variableFile = prefix + "CONFIG"

// VariableKey holds the API key with which a command asks a server. It is no
// part of the configuration, which is printed and kept in files.
const VariableKey = prefix + "KEY"

// Variable is the value of a variable in environ, which has the form of
// os.Environ; "" when it is not there.
func Variable(environ []string, name string) string {
	value := ""
	for _, entry := range environ {
		if rest, ok := strings.CutPrefix(entry, name+"="); ok {
			value = rest
		}
	}
	return value
}

// readEnvironment reads the variables CONCLAVE_… of environ, which has the
// form of os.Environ. Lists of strings are separated by commas; lists of
// objects are YAML, so that keys can come from a secret store.
//
// A variable that no key answers to is a warning and not an error: Kubernetes
// puts CONCLAVE_SERVICE_HOST and the like beside a service named conclave.
func readEnvironment(environ []string) (*layer, []string, error) {
	l := newLayer()
	known := map[string]key{}
	// The common prefix would make any two names look close.
	names := []string{"config", "key"}
	for _, k := range keys() {
		known[k.variable()] = k
		names = append(names, strings.ReplaceAll(k.path, ".", "_"))
	}
	var warnings []string
	for _, entry := range environ {
		name, text, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, prefix) || name == variableFile || name == VariableKey {
			continue
		}
		k, ok := known[name]
		if !ok {
			if kubernetes(name) {
				continue
			}
			warning := fmt.Sprintf("environment %s: no such variable.", name)
			if near := nearest(strings.TrimPrefix(name, prefix), names); near != "" {
				warning += fmt.Sprintf(" Did you mean %s%s?", prefix, strings.ToUpper(near))
			}
			warnings = append(warnings, warning)
			continue
		}
		l.variable(k, text)
	}
	slices.Sort(warnings)
	return l, warnings, errors.Join(l.mistakes...)
}

func (l *layer) variable(k key, text string) {
	source := "environment " + k.variable()
	l.sources[k.path] = source
	switch {
	case k.objects():
		document, second, err := readYAML([]byte(text))
		if err != nil || document == nil || second != nil {
			l.fail(source, k.path, text, "has to be a list in YAML, such as [{name: a}, {name: b}]")
			return
		}
		inner := newLayer()
		v, ok := inner.value(source, k.path, document, k.typ)
		l.mistakes = append(l.mistakes, inner.mistakes...)
		maps.Copy(l.sources, inner.sources)
		if ok {
			l.values[k.path] = v
		}
	case k.strings():
		l.values[k.path] = splitList(text)
	default:
		v, err := parseScalar(k.typ, text)
		if err != nil {
			l.fail(source, k.path, text, "has to be "+err.Error())
			return
		}
		l.values[k.path] = v
	}
}

// splitList splits a comma list; the empty text is the empty list.
func splitList(text string) []string {
	out := []string{}
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// kubernetes recognises what Kubernetes sets for a service named conclave.
func kubernetes(name string) bool {
	rest := strings.TrimPrefix(name, prefix)
	return strings.HasPrefix(rest, "SERVICE_") || rest == "PORT" || strings.HasPrefix(rest, "PORT_")
}
