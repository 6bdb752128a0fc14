package encoder

import (
	"fmt"
	"strings"

	"example.org/conclave/internal/normalise"
)

// normalisedMark follows the fingerprint of a passage encoder that reads texts as
// normalise.Text gives them. Vectors of ASCII texts are the same with and without.
const normalisedMark = "+nfkc-"

// Normalised returns the fingerprint of a passage encoder that reads normalised texts, where
// own is that of the encoder itself.
func Normalised(own string) string {
	return fmt.Sprintf("%s%s%d", own, normalisedMark, normalise.Version)
}

// IsNormalised reports whether an encoder with this fingerprint reads normalised texts.
func IsNormalised(fingerprint string) bool { return strings.Contains(fingerprint, normalisedMark) }
