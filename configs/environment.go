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

// Variable returns the value of a variable in environ, which has the form of os.Environ; "" if it is not there. Of
// several entries the last counts.
func Variable(environ []string, name string) string {
	value := ""
	for _, entry := range environ {
		if rest, ok := strings.CutPrefix(entry, name+"="); ok {
			value = rest
		}
	}
	return value
}

// readEnvironment sets the secrets from the CONCLAVE_ variables in environ, which has the form of os.Environ, and
// returns the texts of the variables that stand for keys, by variable.
//
// A variable that stands for no key gets a warning and is not an error: Kubernetes sets CONCLAVE_SERVICE_HOST and the
// like for a service named conclave.
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

// isKubernetes reports whether a variable is one that Kubernetes sets for a service named conclave.
func isKubernetes(name string) bool {
	rest := strings.TrimPrefix(name, prefix)
	return strings.HasPrefix(rest, "SERVICE_") || rest == "PORT" || strings.HasPrefix(rest, "PORT_")
}

// readKeys sets the keys of the experts and rerankers that name a variable in environ, which has the form of
// os.Environ. One that is not there stays "".
func (r *resolver) readKeys(environ []string) {
	for i := range r.config.Experts {
		if x := &r.config.Experts[i]; x.KeyVariable != "" {
			x.Key = Secret(strings.TrimSpace(Variable(environ, x.KeyVariable)))
		}
	}
	for i := range r.config.Rerankers {
		if x := &r.config.Rerankers[i]; x.KeyVariable != "" {
			x.Key = Secret(strings.TrimSpace(Variable(environ, x.KeyVariable)))
		}
	}
}
