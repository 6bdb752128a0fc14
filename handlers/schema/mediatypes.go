package schema

// The types that are served and taken.
const (
	TypeJSON    = "application/json"
	TypeLines   = "application/x-ndjson"
	TypeYAML    = "application/yaml"
	TypeHTML    = "text/html"
	TypeProblem = "application/problem+json"
)
