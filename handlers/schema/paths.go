package schema

import (
	"strings"
)

// CollectionsPath is the path below which a collection's name stands.
const CollectionsPath = "/v1/collections/"

// PathNamed returns the path of an operation below /v1 with the collection's name in it:
// /v1/collections/{collection}/...
func PathNamed(path string) string {
	return CollectionsPath + "{collection}" + strings.TrimPrefix(path, "/v1")
}

// isOfCollection reports whether a path of openapi.yaml is about one collection: below /v1, but not below
// /v1/collections.
func isOfCollection(path string) bool {
	return strings.HasPrefix(path, "/v1/") && !strings.HasPrefix(path+"/", CollectionsPath)
}
