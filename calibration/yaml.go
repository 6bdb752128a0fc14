package calibration

import (
	"bytes"
	"errors"
	"io"

	"go.yaml.in/yaml/v3"
)

// parsed reads a file of YAML and checks it. A key that T does not have is an error.
func parsed[T any, P interface {
	*T
	Check() error
}](data []byte) (*T, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	v := new(T)
	if err := decoder.Decode(v); err != nil {
		return nil, err
	}
	return v, P(v).Check()
}

// writeYAML writes a comment and a value.
func writeYAML(w io.Writer, comment string, value any) error {
	_, err := io.WriteString(w, comment)
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	return errors.Join(err, encoder.Encode(value), encoder.Close())
}
