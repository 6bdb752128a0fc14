package configs

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// TestSecrets: a secret comes from its variable or from a file, not from both and not out
// of the configuration file, and nothing that is printed has it.
func TestSecrets(t *testing.T) {
	password, key := "CONCLAVE_CLUSTER_PASSWORD=sesame-1\n", "CONCLAVE_CLUSTER_API_KEY=sesame-2"
	c, err := load(t, "cluster: {user: u}", []string{password})
	if err != nil || c.Cluster.Password != "sesame-1" || len(c.Warnings) > 0 {
		t.Fatalf("%v, %v", err, c.Warnings)
	}
	printed, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "password", c.Cluster.Password, "all", c, "cluster", c.Cluster)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "password", c.Cluster.Password, "all", c, "cluster", c.Cluster)
	for _, text := range []string{string(printed), log.String(), fmt.Sprint(c), fmt.Sprintf("%+v %#v", c, c)} {
		if strings.Contains(text, "sesame") {
			t.Errorf("it is printed: %s", text)
		}
	}
	c, err = load(t, "", []string{key})
	if err != nil || c.Cluster.APIKey != "sesame-2" {
		t.Errorf("%v", err)
	}
	for want, x := range map[string]struct {
		file    string
		environ []string
	}{
		"CONCLAVE_CLUSTER_PASSWORD is set too": {"cluster: {user: u, password_file: p}", []string{password}},
		"CONCLAVE_CLUSTER_API_KEY is set too":  {"cluster: {api_key_file: p}", []string{key}},
		"not with both":                        {"cluster: {user: u}", []string{key}},
		"no such key":                          {"cluster: {user: u, password: sesame-3}", nil},
		"contains a user":                      {"store: opensearch+https://u:sesame-4@host:9200/x", nil},
	} {
		if _, err := load(t, x.file, x.environ); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "sesame") {
			t.Errorf("%q: %v", want, err)
		}
	}
}
