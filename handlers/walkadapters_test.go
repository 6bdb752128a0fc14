package handlers_test

import (
	"example.org/conclave/handlers"
	"example.org/conclave/handlers/adapters"
)

// The walk over everything that is served is in package handlers, which adapters import.
var _ = handlers.Walk(adapters.All())
