package deploy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/configs"
)

// object holds what the tests look at of an object of Kubernetes, as YAML has it.
type object map[string]any

// at returns the value at a path of keys, and of places in lists.
func (o object) at(path ...any) any {
	var value any = map[string]any(o)
	for _, step := range path {
		switch step := step.(type) {
		case string:
			fields, _ := value.(map[string]any)
			value = fields[step]
		case int:
			list, _ := value.([]any)
			if step >= len(list) {
				return nil
			}
			value = list[step]
		}
	}
	return value
}

// rendered returns the objects of the two ways to run in Kubernetes, by kind. kustomize has rendered them, and
// Kubernetes' own types have accepted every field.
func rendered(t *testing.T) map[string]map[string]object {
	t.Helper()
	command := tool(t, "run", "./manifests", "../kubernetes/base", "../kubernetes/overlays/cluster")
	command.Dir = "tools"
	command.Env = append(os.Environ(), "GOWORK=off")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var folders []struct {
		Folder  string
		Objects []object
	}
	if err := json.Unmarshal(out, &folders); err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]object{}
	for _, folder := range folders {
		kinds := map[string]object{}
		for _, o := range folder.Objects {
			kinds[o.at("kind").(string)] = o
		}
		all[filepath.Base(folder.Folder)] = kinds
	}
	return all
}

// TestKubernetes: pods are what the strictest standard of Kubernetes accepts, are probed, have requests and
// limits, take their keys from a Secret, and have a budget and a policy that select them; the configuration is one
// that conclave reads.
func TestKubernetes(t *testing.T) {
	for name, kinds := range rendered(t) {
		workload := kinds["StatefulSet"]
		if name == "cluster" {
			workload = kinds["Deployment"]
		}
		pod := object{"spec": workload.at("spec", "template", "spec")}
		container := object{"spec": pod.at("spec", "containers", 0)}
		for want, got := range map[string]any{
			"no root":       pod.at("spec", "securityContext", "runAsNonRoot"),
			"no token":      pod.at("spec", "automountServiceAccountToken") == false,
			"seccomp":       pod.at("spec", "securityContext", "seccompProfile", "type") == "RuntimeDefault",
			"no more":       container.at("spec", "securityContext", "allowPrivilegeEscalation") == false,
			"read-only":     container.at("spec", "securityContext", "readOnlyRootFilesystem"),
			"capabilities":  container.at("spec", "securityContext", "capabilities", "drop", 0) == "ALL",
			"started":       container.at("spec", "startupProbe", "httpGet", "path") == "/startupz",
			"ready":         container.at("spec", "readinessProbe", "httpGet", "path") == "/readyz",
			"alive":         container.at("spec", "livenessProbe", "httpGet", "path") == "/livez",
			"memory":        container.at("spec", "resources", "limits", "memory") != nil,
			"requests":      container.at("spec", "resources", "requests", "cpu") != nil,
			"budget":        kinds["PodDisruptionBudget"].at("spec", "maxUnavailable") != nil,
			"policy in":     kinds["NetworkPolicy"].at("spec", "ingress", 0, "from", 0) != nil,
			"policy both":   kinds["NetworkPolicy"].at("spec", "policyTypes", 1) == "Egress",
			"keys":          strings.Contains(encoded(t, container), `"secretKeyRef":{"key":"keys","name":"conclave-keys"}`),
			"no other door": !strings.Contains(encoded(t, container), "CONCLAVE_AUTH_DISABLED"),
		} {
			if got != true {
				t.Errorf("%s: %s: %v", name, want, got)
			}
		}
		label := object(workload).at("spec", "template", "metadata", "labels", "app.kubernetes.io/name")
		for _, selector := range []any{
			workload.at("spec", "selector", "matchLabels", "app.kubernetes.io/name"),
			kinds["Service"].at("spec", "selector", "app.kubernetes.io/name"),
			kinds["PodDisruptionBudget"].at("spec", "selector", "matchLabels", "app.kubernetes.io/name"),
			kinds["NetworkPolicy"].at("spec", "podSelector", "matchLabels", "app.kubernetes.io/name"),
		} {
			if label == nil || selector != label {
				t.Errorf("%s: %v is selected, pods have %v", name, selector, label)
			}
		}
		text, _ := kinds["ConfigMap"].at("data", "conclave.yaml").(string)
		file := filepath.Join(t.TempDir(), "conclave.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		keys := "[{name: app, sha256: " + strings.Repeat("0f", 32) + ", scopes: [search]}]"
		environ := []string{"CONCLAVE_CONFIG=" + file, "CONCLAVE_AUTH_KEYS=" + keys}
		config, err := configs.Load(nil, environ)
		if err != nil || len(config.Warnings) > 0 || len(config.Auth.Keys) != 1 {
			t.Errorf("%s: %v, %v", name, err, config.Warnings)
		}
	}
}

func encoded(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
