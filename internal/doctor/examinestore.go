package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"example.org/conclave/configs"
	"example.org/conclave/encoder"
	"example.org/conclave/internal/provision"
	"example.org/conclave/internal/server"
	"example.org/conclave/models"
	"example.org/conclave/shipped"
	"example.org/conclave/store/opensearch"
)

// examineStore opens the configured store, compares its vectors with the bundles, and asks
// how its index is.
func examineStore(
	ctx context.Context,
	config configs.Config,
	cache provision.Cache,
) (found []Finding, calibrated bool) {
	const what = "store"
	store, err := server.OpenStore(ctx, config)
	if err != nil {
		return []Finding{failed(what, err)}, false
	}
	m := store.Manifest()
	shown, err := opensearch.NewCorpus(ctx, store)
	var health opensearch.Health
	if err == nil {
		health, err = shown.Look(ctx)
	}
	if err != nil {
		return []Finding{failed(what, err)}, false
	}
	f := Finding{
		What:   what,
		Status: StatusOK,
		Detail: fmt.Sprintf(
			"index %s: %d passages, %d deleted ones that count in scores of words; health %s",
			store.Index(),
			health.Passages,
			health.Deleted,
			health.Status,
		),
	}
	copies, err := store.Copies(ctx)
	if err != nil {
		return []Finding{failed(what, err)}, false
	}
	if copies > 0 {
		f.Detail += fmt.Sprintf("; %d of the passages are copies of others", copies)
	}
	if older := server.Unwritten(health.Statistics); older != "" {
		f.Status = StatusNote
		f.Detail += "; " + older
	}
	for _, disk := range health.Disks {
		f.Status = StatusNote
		f.Detail += "; " + disk
	}
	if health.Blocked != "" {
		f.Status = StatusNote
		f.Detail += "; " + server.Blocked(health)
	}
	if health.Status != "green" {
		f.Status = StatusNote
		f.Detail += fmt.Sprintf(", %d copies of shards are on no node", health.Unassigned)
	}
	var errs []error
	if health.Status == "red" {
		errs = append(errs, errors.New(f.Detail))
	}
	for _, x := range m.Experts {
		f.Detail += fmt.Sprintf("; %s: fingerprint %.12s", x.Name, x.Fingerprint)
		// else its bundle has a finding of its own
		if path, err := shipped.Folder(config, cache, cmp.Or(x.Owner, x.Name)); err == nil {
			if b, err := models.Peek(path); err == nil {
				errs = append(errs, m.CheckEncoders(bundleEncoder{x.Name, b, nil, !encoder.IsNormalised(x.Fingerprint)}))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return []Finding{failed(what, err)}, false
	}
	return append([]Finding{f}, examineReads(server.ReadsOf(health.Statistics))...), m.Calibration != ""
}
