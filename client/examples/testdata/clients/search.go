package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"example.org/conclave/client/go"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c := client.Client{Address: "http://127.0.0.1:8080", Key: os.Getenv("CONCLAVE_KEY")}
	answer, err := c.Search(ctx, client.SearchRequest{Question: "why did the fox hide the moon", K: 3})
	if client.Code(err) == "overloaded" {
		log.Fatal("later")
	} else if err != nil {
		log.Fatal(err)
	}
	for _, r := range answer.Results {
		fmt.Println(r.ID, r.Title, r.Score)
	}
	note := client.Passage{ID: "note/tea", Title: "Tea", Text: "Green tea is brewed below the boiling point."}
	if _, err := c.Put(ctx, note, client.Write{Visible: true}); err != nil {
		log.Fatal(err)
	}
	if _, err := c.Delete(ctx, note.ID, client.Write{}); err != nil {
		log.Fatal(err)
	}
}
