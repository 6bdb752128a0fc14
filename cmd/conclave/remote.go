package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	client "example.org/conclave/client/go"
	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search"
	"example.org/conclave/search/reply"

	"github.com/spf13/pflag"
)

// serverFlags name a server to ask instead of a collection.
type serverFlags struct{ url, key string }

// bindFlags adds the flags that name a server to a command's.
func (s *serverFlags) bindFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.url, "url", "", "base `address` of a server to ask instead of a collection")
	flags.StringVar(
		&s.key,
		"key",
		"",
		"API `key` for the server; better in $"+configs.VariableKey+", since others can see command lines",
	)
}

// checkFlags returns a usage error for --url with --collection, and for --key without --url.
func (s *serverFlags) checkFlags(flags *pflag.FlagSet) error {
	switch {
	case s.url != "" && flags.Changed("collection"):
		return cli.Usagef("--collection and --url exclude each other")
	case s.url == "" && flags.Changed("key"):
		return cli.Usagef("--key is for a server: name it with --url")
	}
	return nil
}

// newClient returns a client of the server at --url, which sends each request once. Its API key is that of --key, or
// else of the environment. It returns a usage error if the address is invalid. No request is sent yet.
func (s *serverFlags) newClient(environ []string) (*client.Client, error) {
	base, err := serverAddress(s.url)
	return &client.Client{
		Address:  base,
		Key:      cmp.Or(s.key, configs.Variable(environ, configs.VariableKey)),
		Attempts: 1,
	}, err
}

// export writes the passages that the server shows to the key as JSON Lines: all, or with filter those that meet that
// condition in JSON. After an error, the passages before it were written. It fails if the address is invalid, the
// filter is not a condition, or a request fails for good; each is tried several times.
func (s *serverFlags) export(ctx context.Context, environ []string, filter string, to io.Writer) error {
	server, err := s.newClient(environ)
	if err != nil {
		return err
	}
	server.Attempts = 0 // a whole export is not given up for one request
	var only client.Condition
	if filter != "" {
		if err := json.Unmarshal([]byte(filter), &only); err != nil {
			return err
		}
	}
	w := bufio.NewWriter(to)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for p, err := range server.PassagesThatMeet(ctx, only) {
		if err == nil {
			// As a collection is exported, without what the server says of the place in a document.
			err = encoder.Encode(corpus.Passage{ID: p.ID, Title: p.Title, Text: p.Text, Tags: p.Tags, Metadata: p.Metadata})
		}
		if err != nil {
			return errors.Join(err, w.Flush())
		}
	}
	return w.Flush()
}

// search sends a search request to the server that the flags name and returns its answer. It fails if the flags or
// environ do not make a client, or as the client's Search does. The request is sent once.
func (s *serverFlags) search(
	ctx context.Context, environ []string, request search.Request,
) (response reply.Response, err error) {
	server, err := s.newClient(environ)
	if err != nil {
		return response, err
	}
	var asked client.SearchRequest
	if err := convertJSON(request, &asked); err != nil {
		return response, err
	}
	answer, err := server.Search(ctx, asked)
	if err != nil {
		return response, err
	}
	return response, convertJSON(answer, &response)
}

// convertJSON decodes the JSON encoding of from into to. It converts between the client's types and the engine's, whose
// JSON is the same, and fails if to cannot hold what from has.
func convertJSON(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("writing a %T as JSON: %w", from, err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(to); err != nil {
		return fmt.Errorf("reading a %T as a %T: %w", from, to, err)
	}
	return nil
}

// serverAddress returns the base address of a server without slashes at its end. It returns a usage error unless the
// address begins with http:// or https:// and has a host, and no query or fragment.
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
