package handlers_test

import (
	"conclave/adapters"
	"conclave/handlers"
)

// The walk over everything that is served is in package handlers, which adapters import.
var _ = handlers.Walk(adapters.All("c"))
