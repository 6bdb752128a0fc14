package schema

// Scope names a group of operations that a key may use.
type Scope string

// The scopes. Admin covers the others.
const (
	ScopeSearch Scope = "search"
	ScopeEmbed  Scope = "embed"
	ScopeIngest Scope = "ingest"
	ScopeAdmin  Scope = "admin"

	// AnyKey is the scope of operations that every valid key may use.
	AnyKey Scope = "any"
	// Public is the scope of operations that need no key.
	Public Scope = ""
)
