package opensearch

// object is a JSON object that is sent to the cluster.
type object = map[string]any
