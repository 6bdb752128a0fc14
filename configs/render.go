package configs

import (
	"bytes"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// YAML renders the effective configuration in the form of conclave.yaml; Load
// reads it back to the same Config. There are no secrets in it: keys are known
// by their SHA-256.
func (cfg Config) YAML() ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(cfg), encoder.Close()); err != nil {
		return nil, fmt.Errorf("rendering the configuration: %w", err)
	}
	return out.Bytes(), nil
}
