// A program with the client that oapi-codegen makes of the document: it adds a passage,
// waits until searches see it, and searches for it.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"generated/api"
)

func main() {
	ctx := context.Background()
	client, err := api.NewClientWithResponses(os.Getenv("SERVER"))
	if err != nil {
		log.Fatal(err)
	}
	wait := api.UploadPassagesParamsRefreshWait
	id := "kite/go"
	stored, err := client.UploadPassagesWithResponse(ctx, &api.UploadPassagesParams{Refresh: &wait},
		[]api.PassageRequest{{Id: &id, Text: "A gopher flew a kite over the harbour."}})
	if err != nil || stored.StatusCode() != 200 {
		log.Fatalf("%v: %s", err, stored.Body)
	}
	found, err := client.SearchPassagesWithResponse(ctx, api.SearchRequest{Question: "gopher kite harbour"})
	if err != nil || found.JSON200 == nil {
		log.Fatalf("%v: %s", err, found.Body)
	}
	first := (*found.JSON200.Results)[0]
	fmt.Println(first.Id, first.Rank)
}
