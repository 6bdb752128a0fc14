package main

import (
	"cmp"
	"net/url"
	"strings"

	"conclave/client"
	"conclave/configs"
)

// serverAt is the server that --url names, with the key of --key or of the environment.
func serverAt(address, key string, environ []string) (*client.Client, error) {
	base, err := serverAddress(address)
	return &client.Client{Address: base, Key: cmp.Or(key, configs.Variable(environ, configs.VariableKey)), Attempts: 1}, err
}

// serverAddress is the base address of a server without a slash at its end.
func serverAddress(given string) (string, error) {
	base := strings.TrimRight(given, "/")
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", usagef("--url %q has to begin with http:// or https:// and name a server, such as http://127.0.0.1:8080", given)
	}
	return base, nil
}
