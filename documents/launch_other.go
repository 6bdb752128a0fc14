//go:build !linux || (!amd64 && !arm64)

package documents

// forbidNetwork does nothing: the system has no such thing, or its calls are not known.
func forbidNetwork() {}
