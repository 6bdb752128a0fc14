package adapters

import (
	"context"
	"io"
	"net/http"

	"example.org/conclave/handlers"
	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/collections"

	"github.com/go-json-experiment/json"
)

// storeRoutes returns the routes of OpenAI's vector stores. A store is a collection, and its id the collection's name.
func storeRoutes(totals *countedFiles) []handlers.Adapter {
	route := func(
		method, path string, scope schema.Scope, cost front.Cost, do func(*http.Request, handlers.Manager) (any, error),
	) handlers.Adapter {
		return handlers.Adapter{
			Method: method, Path: path, Scope: scope, Cost: cost, Refusal: openAIError("vector_store_id"),
			Manage: func(r *http.Request, m handlers.Manager) (answer handlers.Answer, err error) {
				answer.Value, err = do(r, m)
				return answer, err
			},
		}
	}
	return []handlers.Adapter{
		route(http.MethodGet, "/v1/vector_stores", schema.ScopeSearch, front.Answering(0), listStores(totals)),
		route(http.MethodPost, "/v1/vector_stores", schema.ScopeAdmin, front.Storing(), createStore),
		route(http.MethodDelete, "/v1/vector_stores/{collection}", schema.ScopeAdmin, front.Storing(),
			func(r *http.Request, m handlers.Manager) (any, error) {
				name := r.PathValue("collection")
				err := m.RemoveCollection(name)
				return fileDeletion{name, "vector_store.deleted", err == nil}, err
			}),
	}
}

// listStores returns the route that lists the collections that the caller may use. It counts the files of those that
// are open. A store whose files cannot be counted is listed without counts. The route fails if the collections cannot
// be listed, or the request ends.
func listStores(totals *countedFiles) func(*http.Request, handlers.Manager) (any, error) {
	return func(r *http.Request, m handlers.Manager) (any, error) {
		all, err := m.Collections()
		if err != nil {
			return nil, err
		}
		out := filePage{Object: "list", Data: []any{}}
		for i := range all {
			store := storeDescribed(&all[i])
			if all[i].Status == collections.Opened {
				counted, err := countedStore(r.Context(), m, totals, all[i].Name)
				if err != nil && r.Context().Err() != nil {
					return nil, err
				}
				if err == nil { // else it was closed meanwhile, or is asked too often
					store.FileCounts = counted.FileCounts
					store.UsageBytes = counted.UsageBytes
				}
			}
			out.Data = append(out.Data, store)
			if i == 0 {
				out.FirstID = &all[i].Name
			}
			out.LastID = &all[i].Name
		}
		return out, nil
	}
}

// countedStore returns a collection as a vector store with the number and the bytes of its files. It fails if there is
// no collection of this name or its files cannot be counted.
func countedStore(
	ctx context.Context,
	m handlers.Manager,
	totals *countedFiles,
	name string,
) (store vectorStore, err error) {
	e, err := m.Keeper(name)
	if err != nil {
		return store, err
	}
	files, err := totals.countFor(ctx, e)
	return storeOf(name, files), err
}

// newStoreBody is OpenAI's body for a new store.
type newStoreBody struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Metadata    map[string]any `json:"metadata"`
	FileIDs     []string       `json:"file_ids"`
	Chunking    map[string]any `json:"chunking_strategy"` // there is one
	Expires     map[string]any `json:"expires_after"`
}

// createStore creates a collection with the store's name, which is its id, and returns it as a vector store. It returns
// a problem if the name is missing, an option is not supported, or the collection cannot be created.
func createStore(r *http.Request, m handlers.Manager) (any, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var in newStoreBody
	if err := json.Unmarshal(body, &in, json.RejectUnknownMembers(true)); err != nil {
		return nil, bodyError(body, err)
	}
	switch {
	case in.Name == "":
		return nil, fieldError(
			"missing_field", "/name", "name is missing: it is the id of the store, and the collection's name",
		)
	case len(in.FileIDs) > 0:
		return nil, fieldError(
			"unknown_value", "/file_ids", "a file is of the store that it is put into: leave file_ids out",
		)
	case in.Expires != nil:
		return nil, fieldError("unknown_value", "/expires_after", "a store does not expire: leave expires_after out")
	case len(in.Metadata) > 0:
		return nil, fieldError("unknown_value", "/metadata", "a store has no metadata here: leave metadata out")
	}
	info, err := m.CreateCollection(in.Name, in.Description)
	if err != nil {
		return nil, err
	}
	return storeDescribed(&info), nil
}

// storeDescribed returns a collection as a vector store by its description, with file counts of 0. A collection that
// cannot be opened gets OpenAI's status "expired".
func storeDescribed(info *collections.Info) vectorStore {
	store := storeOf(info.Name, fileTotals{})
	if info.Created != nil {
		store.CreatedAt = info.Created.Unix()
	}
	if info.Status == collections.Failed {
		store.Status = "expired" // the one of OpenAI's that says it cannot be searched
	}
	return store
}
