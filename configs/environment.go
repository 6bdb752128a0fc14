package configs

import (
	"errors"
	"fmt"
	"reflect"
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

// secrets are the variables of what is read from the environment and from no file.
func secrets(c *Config) map[string]*Secret {
	return map[string]*Secret{prefix + "CLUSTER_PASSWORD": &c.Cluster.Password, prefix + "CLUSTER_API_KEY": &c.Cluster.APIKey}
}

// environment reads the variables CONCLAVE_… of environ, which has the form of
// os.Environ. Lists of strings are separated by commas; lists of objects are YAML,
// so that keys can come from a secret store.
//
// A variable that no key answers to is a warning and not an error: Kubernetes
// puts CONCLAVE_SERVICE_HOST and the like beside a service named conclave.
func (r *reader) environment(environ []string) error {
	known := map[string]key{}
	// The common prefix would make any two names look close.
	names, hidden := []string{"config", "key"}, secrets(r.config)
	for name := range hidden {
		names = append(names, strings.ToLower(strings.TrimPrefix(name, prefix)))
	}
	for _, k := range keys(r.config) {
		known[k.variable()] = k
		names = append(names, strings.ReplaceAll(k.path, ".", "_"))
	}
	for _, entry := range environ {
		name, text, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, prefix) || name == variableFile || name == VariableKey || kubernetes(name) {
			continue
		}
		if into, ok := hidden[name]; ok {
			*into = Secret(strings.TrimSpace(text))
			continue
		}
		if k, ok := known[name]; ok {
			r.variable(k, text)
			continue
		}
		warning := fmt.Sprintf("environment %s: no such variable.", name)
		if near := nearest(strings.TrimPrefix(name, prefix), names); near != "" {
			warning += fmt.Sprintf(" Did you mean %s%s?", prefix, strings.ToUpper(near))
		}
		r.config.Warnings = append(r.config.Warnings, warning)
	}
	slices.Sort(r.config.Warnings)
	return errors.Join(r.mistakes...)
}

func (r *reader) variable(k key, text string) {
	source := "environment " + k.variable()
	switch {
	case k.objects():
		document, second, err := readYAML([]byte(text))
		if err != nil || document == nil || second != nil {
			r.fail(source, k.path, text, "has to be a list in YAML, such as [{name: a}, {name: b}]")
			return
		}
		r.value(source, k.path, document, k.value)
	case k.isList():
		r.sources[k.path] = source
		k.value.Set(reflect.ValueOf(splitList(text)))
	default:
		r.text(source, k.path, text, k.value)
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
