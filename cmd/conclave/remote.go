package main

import (
	"cmp"
	"net/url"
	"strings"

	client "example.org/conclave/client/go"
	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"

	"github.com/spf13/pflag"
)

// serverFlags name a server to ask instead of a collection.
type serverFlags struct{ url, key string }

func (s *serverFlags) bind(flags *pflag.FlagSet) {
	flags.StringVar(&s.url, "url", "", "base `address` of a server to ask instead of a collection")
	flags.StringVar(
		&s.key,
		"key",
		"",
		"API `key` for the server; better in $"+configs.VariableKey+", since others can see command lines",
	)
}

// check refuses flags that contradict each other or mean nothing.
func (s *serverFlags) check(flags *pflag.FlagSet) error {
	switch {
	case s.url != "" && flags.Changed("collection"):
		return cli.Usagef("--collection and --url exclude each other")
	case s.url == "" && flags.Changed("key"):
		return cli.Usagef("--key is for a server: name it with --url")
	}
	return nil
}

// at returns the server, with its key of the flag or of the environment.
func (s *serverFlags) at(environ []string) (*client.Client, error) {
	base, err := serverAddress(s.url)
	return &client.Client{
		Address:  base,
		Key:      cmp.Or(s.key, configs.Variable(environ, configs.VariableKey)),
		Attempts: 1,
	}, err
}

// serverAddress returns the base address of a server without a slash at its end.
func serverAddress(given string) (string, error) {
	base := strings.TrimRight(given, "/")
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", cli.Usagef(
			"--url %q has to begin with http:// or https:// and name a server, such as http://127.0.0.1:8080",
			given,
		)
	}
	return base, nil
}
