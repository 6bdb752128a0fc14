package models

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"go.yaml.in/yaml/v3"
)

// A sealed YAML file ends with a line that is a comment to YAML and holds the
// SHA-256 of everything before it, so that a changed byte is found in the two
// files that the manifest cannot list. A file without the line is accepted, since
// people edit manifests. Any other form of the line is refused.
const sealPrefix = "# sha256 of the lines above: "

// sealed returns a value as YAML, with a last line that holds the SHA-256 of the lines before it, as a comment. It
// fails if the value cannot be written as YAML.
func sealed(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	if err := encoder.Close(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b.Bytes())
	return append(b.Bytes(), sealPrefix+hex.EncodeToString(sum[:])+"\n"...), nil
}

// verifySealed returns an error if data ends with a comment that is not the checksum of the lines before it, or
// with the words of one. Data whose last line is neither is accepted, since people who edit the file delete the
// line. That any comment counts keeps a changed byte from making an ordinary comment of it.
func verifySealed(data []byte) error {
	body := bytes.TrimSuffix(data, []byte("\n"))
	start := bytes.LastIndexByte(body, '\n') + 1
	line := body[start:]
	if !bytes.HasPrefix(line, []byte("#")) && !bytes.Contains(line, []byte(sealPrefix[2:])) {
		return nil
	}
	sum := sha256.Sum256(data[:start])
	if string(line) != sealPrefix+hex.EncodeToString(sum[:]) || len(body) == len(data) {
		return errors.New(
			"the file was changed after it was written: its last line is no SHA-256 of the lines above (if you edited it, delete that line)",
		)
	}
	return nil
}
