package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"conclave/configs"
)

// remote calls a running server: a body that is not nil goes out as JSON, and
// the answer comes into out.
func remote(ctx context.Context, method, base, path, key string, body, out any) error {
	base, err := serverAddress(base)
	if err != nil {
		return err
	}
	answer, data, err := request(ctx, method, base, path, key, body)
	switch {
	case err != nil:
		return err
	case answer.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%s; put the key into the environment as %s", problemText(answer.Status, data), configs.VariableKey)
	case answer.StatusCode >= 300:
		return errors.New(problemText(answer.Status, data))
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%s did not answer as conclave does: %w", base, err)
	}
	return nil
}

// request sends a request to a server, and reads what it answers.
func request(ctx context.Context, method, base, path, key string, body any) (*http.Response, []byte, error) {
	var text io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, nil, err
		}
		text = bytes.NewReader(data)
	}
	call, err := http.NewRequestWithContext(ctx, method, base+path, text)
	if err != nil {
		return nil, nil, usagef("--url %q: %w", base, err)
	}
	if body != nil {
		call.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		call.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := http.DefaultClient.Do(call)
	if err != nil {
		return nil, nil, fmt.Errorf("no answer from %s: %w", base, err)
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(answer.Body, 64<<20))
	if err != nil {
		return nil, nil, fmt.Errorf("reading the answer of %s: %w", base, err)
	}
	return answer, data, nil
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

// problemText is what an error answer says, for people: the detail of a
// problem, or the beginning of what came instead.
func problemText(status string, body []byte) string {
	var problem struct{ Detail string }
	if json.Unmarshal(body, &problem) == nil && problem.Detail != "" {
		return status + ": " + printable(problem.Detail)
	}
	text := []rune(printable(strings.TrimSpace(string(body))))
	if len(text) > 200 {
		text = append(text[:200], '…')
	}
	return status + ": " + string(text)
}
