package opensearch

import (
	"errors"
	"net/http"
	"net/url"
	"testing"

	"example.org/conclave/store/opensearch/cluster"
)

// TestSettingsOfSilentCluster: settings that a cluster does not take because it is not well are refused as other
// changes are, so that callers send them again; settings that it refuses have its own error.
func TestSettingsOfSilentCluster(t *testing.T) {
	for status, want := range map[int]bool{http.StatusInternalServerError: true, http.StatusForbidden: false} {
		client, err := cluster.NewClient([]*url.URL{answers(t, status, `{}`)}, cluster.Access{})
		if err != nil {
			t.Fatal(err)
		}
		err = (&Store{client: client, index: "x"}).Configure(t.Context(), "text")
		if got := errors.As(err, new(*SilentError)); err == nil || got != want {
			t.Errorf("%d: %v", status, err)
		}
	}
}
