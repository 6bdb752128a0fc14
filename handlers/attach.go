package handlers

// Attach gives the API its engine. Until then, /startupz and everything that needs the
// engine answer 503.
func (a *API) Attach(e Engine) { a.engine.Store(&e) }

// loaded returns the engine for a request.
func (a *API) loaded() (Engine, error) {
	if e := a.engine.Load(); e != nil {
		return *e, nil
	}
	return nil, newProblem("not_ready", "The models and the index are still being loaded; /readyz tells how far they are.")
}
