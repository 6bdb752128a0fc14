package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"conclave/search"
)

// searchRemote asks a running server.
func searchRemote(ctx context.Context, base, key string, request search.Request) (search.Response, error) {
	if !strings.HasPrefix(base, "http://") && !strings.HasPrefix(base, "https://") {
		return search.Response{}, usagef("--url %q has to begin with http:// or https://", base)
	}
	body, err := json.Marshal(request)
	if err != nil {
		return search.Response{}, err
	}
	call, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(base, "/")+"/v1/search", bytes.NewReader(body))
	if err != nil {
		return search.Response{}, usagef("--url %q: %w", base, err)
	}
	call.Header.Set("Content-Type", "application/json")
	if key != "" {
		call.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := http.DefaultClient.Do(call)
	if err != nil {
		return search.Response{}, fmt.Errorf("no answer from %s: %w", base, err)
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(answer.Body, 64<<20))
	if err != nil {
		return search.Response{}, fmt.Errorf("reading the answer of %s: %w", base, err)
	}
	if answer.StatusCode != http.StatusOK {
		var problem struct{ Title, Detail string }
		if json.Unmarshal(data, &problem) == nil && problem.Detail != "" {
			return search.Response{}, fmt.Errorf("%s: %s", answer.Status, problem.Detail)
		}
		return search.Response{}, fmt.Errorf("%s: %s", answer.Status, strings.TrimSpace(string(data)))
	}
	var response search.Response
	if err := json.Unmarshal(data, &response); err != nil {
		return search.Response{}, fmt.Errorf("%s did not answer as conclave does: %w", base, err)
	}
	return response, nil
}
