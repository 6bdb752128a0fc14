package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"conclave/collection"
	"conclave/configs"
	"conclave/jobs"

	"github.com/spf13/cobra"
)

func newSnapshot(term terminal) *cobra.Command {
	var out, url, key string
	command := &cobra.Command{
		Use:   "snapshot",
		Short: "Copy a collection by hard links, also while it is served",
		Long: `Makes a folder that is a collection of its own and shares its files with the
original, so it takes no space until the original drops them. Both have to be on
one file system. To restore a snapshot is to serve it.

With --collection it copies the newest generation. With --url it asks the server
that serves the collection, whose snapshot also has what was written and not yet
indexed; --out is then a name in the server's folder of snapshots.`,
		Example: `  conclave snapshot --collection my-index --out my-index-monday
  conclave snapshot --url http://127.0.0.1:8080 --out monday`,
		Args: cobra.NoArgs,
		RunE: configured(term, func(cmd *cobra.Command, config configs.Config) error {
			switch {
			case url != "" && cmd.Flags().Changed("collection"):
				return usagef("--collection and --url exclude each other")
			case url == "" && key != "":
				return usagef("--key is for a server: name it with --url")
			case url != "":
				if key == "" {
					key = configs.Variable(term.Environ, configs.VariableKey)
				}
				job, err := snapshotRemote(cmd.Context(), url, key, out)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(term.Out, "%s: generation %d, %s, %s shared\n", job.Result.Folder, job.Result.Generation, plural(int64(job.Result.Passages), "passage"), count(job.Result.Bytes, "bytes"))
				return err
			case out == "":
				return usagef("--out is needed: the folder to make")
			}
			r, err := collection.Snapshot(cmd.Context(), config.Collection, out)
			if err != nil {
				return err
			}
			if r.Pending > 0 {
				_, _ = fmt.Fprintf(term.Err, "%d acknowledged changes wait in the log and are not in the snapshot: ask the server for one, with --url\n", r.Pending)
			}
			_, err = fmt.Fprintf(term.Out, "%s: generation %d, %s, %s, %s shared\n", out, r.Generation, plural(int64(r.Passages), "passage"), plural(int64(r.Files), "file"), count(r.Bytes, "bytes"))
			return err
		}),
	}
	addConfigFlags(command.Flags(), "collection")
	command.Flags().StringVar(&out, "out", "", "`folder` of the snapshot, which must not be there yet; with --url, its name")
	command.Flags().StringVar(&url, "url", "", "base `address` of a server to ask, instead of a collection")
	command.Flags().StringVar(&key, "key", "", "API `key` for the server, with the scope admin; better in $"+configs.VariableKey+", since others can see command lines")
	return command
}

// pollEvery is how often a server is asked how far a job is.
const pollEvery = 200 * time.Millisecond

// snapshotRemote asks a server for a snapshot and waits until it is made.
func snapshotRemote(ctx context.Context, base, key, name string) (job jobs.Job, err error) {
	request := map[string]string{}
	if name != "" {
		request["name"] = name
	}
	if err := remote(ctx, http.MethodPost, base, "/v1/admin/snapshots", key, request, &job); err != nil {
		return job, err
	}
	for !job.State.Ended() {
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return job, fmt.Errorf("job %s goes on at the server: %w", job.ID, ctx.Err())
		}
		next := jobs.Job{}
		if err := remote(ctx, http.MethodGet, base, "/v1/jobs/"+job.ID, key, nil, &next); err != nil {
			return job, err
		}
		job = next
	}
	if job.State != jobs.Done || job.Result == nil {
		return job, fmt.Errorf("the snapshot is %s: %s", job.State, job.Error)
	}
	return job, nil
}
