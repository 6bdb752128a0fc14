package ann

import "example.org/conclave/internal/disk"

// Writer writes the file of an index's vectors, one after the other. It is not
// safe for concurrent use.
type Writer interface {
	// Append adds a vector; its ordinal is the number of those before it.
	Append(vector []float32) error
	// Len is the number of vectors appended.
	Len() int
	// Close makes the file durable and gives it its name. When it fails, nothing
	// is left.
	Close() error
	// Abort removes what was written. After Close it does nothing, so it can be
	// deferred.
	Abort()
}

// Create begins the file of vectors that an index of the kind is built of: of
// dim elements a vector, or a token's vector where the kind's vectors are lists
// of these. The file appears under its name when Close succeeds, and not before.
func Create(d disk.Disk, kind, path string, dim int) (Writer, error) {
	k, err := KindNamed(kind)
	if err != nil {
		return nil, err
	}
	if k.Tokens {
		return createTokens(d, path, dim)
	}
	return createVectors(d, path, dim)
}
