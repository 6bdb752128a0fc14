package deploy

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/testing/realclients"

	"go.yaml.in/yaml/v3"
)

// expression is one of PromQL, and where it stands.
type expression struct{ at, text string }

// expressions returns those of the dashboard's panels and of the alerts.
func expressions(t *testing.T) (all []expression) {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	var alerts struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	text, err := os.ReadFile("observability/grafana/dashboards/conclave.json")
	if err == nil {
		err = json.Unmarshal(text, &dashboard)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err = os.ReadFile("observability/alerts.yml")
	if err == nil {
		err = yaml.Unmarshal(text, &alerts)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			all = append(
				all,
				expression{panel.Title, strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*").Replace(target.Expr)},
			)
		}
	}
	for _, group := range alerts.Groups {
		for _, rule := range group.Rules {
			all = append(all, expression{rule.Alert, rule.Expr})
		}
	}
	return all
}

// TestMetricsExist: a server that was used has every metric that a panel or an alert
// asks for, with every label. Those of a cluster are looked for by internal/endtoend's TestClusterStore.
func TestMetricsExist(t *testing.T) {
	url := realclients.Server(t, realclients.ServerOptions{})
	for _, path := range []string{"/v1/search?q=who+hid+the+lamp", "/v1/search?q=x&k=0", "/v1/embed"} {
		response, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, url+"/v1/passages/rice", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	response, err = http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string][]string{"up": nil} // Prometheus's own
	for _, series := range regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? `).FindAllStringSubmatch(string(text), -1) {
		labels[series[1]] = append(labels[series[1]], "instance", "job")
		for _, label := range regexp.MustCompile(`([a-z_]+)="`).FindAllStringSubmatch(series[2], -1) {
			labels[series[1]] = append(labels[series[1]], label[1])
		}
	}
	asked := 0
	selector := regexp.MustCompile(`\b((?:conclave|process|go)_[a-z_]+|up)\b(?:\{([^}]*)\})?`)
	grouping := regexp.MustCompile(`\bby \(([^)]*)\)`)
	for _, e := range expressions(t) {
		for _, found := range selector.FindAllStringSubmatch(e.text, -1) {
			if strings.HasPrefix(found[1], "conclave_store_") { // of a server over a cluster, as TestClusterStore sees it
				continue
			}
			asked++
			has, ok := labels[found[1]]
			if !ok {
				t.Errorf("%s: there is no %s", e.at, found[1])
				continue
			}
			wants := regexp.MustCompile(`([a-z_]+)[=!]`).FindAllStringSubmatch(found[2], -1)
			for _, by := range grouping.FindAllStringSubmatch(e.text, -1) {
				for name := range strings.SplitSeq(by[1], ",") {
					wants = append(wants, []string{"", strings.TrimSpace(name)})
				}
			}
			for _, label := range wants {
				if found[1] != "up" && !slices.Contains(has, label[1]) {
					t.Errorf("%s: %s has no label %s", e.at, found[1], label[1])
				}
			}
		}
	}
	if asked < 30 {
		t.Errorf("only %d metrics are asked for", asked)
	}
}

// TestPromtool has Prometheus's own tool check the configuration, the alerts, when they
// fire, and the panels' expressions, where it is installed.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian: apt-get install prometheus)")
	}
	type rule struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var rules []rule
	for _, e := range expressions(t) {
		rules = append(rules, rule{"panel", e.text})
	}
	panels, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "panels", "rules": rules}}})
	file := filepath.Join(t.TempDir(), "panels.yml")
	if err == nil {
		err = os.WriteFile(file, panels, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check", "config", "prometheus.yml"}, {"test", "rules", "alerts.test.yml"}, {"check", "rules", "--lint=none", file}} {
		command := exec.Command(promtool, args...)
		command.Dir = "observability"
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
