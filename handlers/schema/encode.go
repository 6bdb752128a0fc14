package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Encode appends a value as one line of JSON to into. It fails if the value cannot be encoded.
func Encode(into *bytes.Buffer, v any) error {
	encoder := json.NewEncoder(into)
	encoder.SetEscapeHTML(false) // it is JSON, says its type, and may not be sniffed
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("marshalling the answer: %w", err)
	}
	return nil
}
