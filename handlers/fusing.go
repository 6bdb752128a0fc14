package handlers

import "example.org/conclave/search"

// postFuse answers POST /v1/fuse.
func postFuse(c *call, r search.FuseRequest) (search.FuseResponse, error) {
	done, err := c.api.options.Admission.Turn(c.r.Context())
	if err != nil {
		return search.FuseResponse{}, err
	}
	defer done()
	return search.Fuse(r)
}
