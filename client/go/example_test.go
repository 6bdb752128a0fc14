package client_test

import (
	"context"
	"fmt"
	"log"
	"time"

	client "example.org/conclave/client/go"
)

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c := client.Client{Address: "http://127.0.0.1:8080"}
	answer, err := c.Search(ctx, client.SearchRequest{Question: "why did the fox hide the moon?", K: 3})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range answer.Results {
		fmt.Println(r.ID, r.Title, r.Score)
	}
}

func ExampleClient_Upload() {
	c := client.Client{Address: "http://127.0.0.1:8080"}
	passages := func(yield func(client.Passage) bool) {
		yield(client.Passage{ID: "rice", Text: "Cooked rice keeps for a day in the fridge."})
	}
	for line, err := range c.Upload(context.Background(), client.Lines(passages), true) {
		if err != nil {
			log.Fatal(err)
		}
		if line.Err != nil {
			fmt.Println(line.ID, "was not taken:", line.Err)
		}
	}
}
