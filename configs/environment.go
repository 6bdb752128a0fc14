package configs

import (
	"fmt"
	"slices"
	"strings"
)

// prefix begins the name of every variable that conclave reads.
const prefix = "CONCLAVE_"

// Variables that are no keys, which are printed and kept in files.
const (
	variableFile     = prefix + "CONFIG"           // names the configuration file
	variablePassword = prefix + "CLUSTER_PASSWORD" // of Cluster.User
	variableAPIKey   = prefix + "CLUSTER_API_KEY"
	VariableKey      = prefix + "KEY" // holds the API key with which a command asks a server
)

// Variable returns the value of a variable in environ, which has the form of
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

// readEnvironment reads the secrets and texts of the variables CONCLAVE_… of environ, which
// has the form of os.Environ; the texts are of the keys, by their variables.
//
// A variable that no key answers to is a warning and not an error: Kubernetes
// puts CONCLAVE_SERVICE_HOST and the like beside a service named conclave.
func (r *resolver) readEnvironment(environ []string) (texts map[string]string) {
	cluster := &r.config.Cluster
	cluster.Password = Secret(strings.TrimSpace(Variable(environ, variablePassword)))
	cluster.APIKey = Secret(strings.TrimSpace(Variable(environ, variableAPIKey)))
	others := []string{variableFile, variablePassword, variableAPIKey, VariableKey}
	var keys []string
	for _, k := range rootKey(&r.config).allLeaves() {
		keys = append(keys, k.variableName())
	}
	texts = map[string]string{}
	for _, entry := range environ {
		name, text, _ := strings.Cut(entry, "=")
		if slices.Contains(keys, name) {
			texts[name] = text
		} else if strings.HasPrefix(name, prefix) && !slices.Contains(others, name) && !isKubernetes(name) {
			r.config.Warnings = append(r.config.Warnings, fmt.Sprintf("environment %s: no such variable.%s", name,
				didYouMean(name, append(others, keys...))))
		}
	}
	slices.Sort(r.config.Warnings)
	return texts
}

// isKubernetes recognises what Kubernetes sets for a service named conclave.
func isKubernetes(name string) bool {
	rest := strings.TrimPrefix(name, prefix)
	return strings.HasPrefix(rest, "SERVICE_") || rest == "PORT" || strings.HasPrefix(rest, "PORT_")
}
