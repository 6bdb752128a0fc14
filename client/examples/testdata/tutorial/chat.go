// go run chat.go
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
)

type message struct {
	Role        string `json:"role"`
	Content     string `json:"content"`
	Annotations []struct {
		Citation struct{ URL string } `json:"url_citation"`
	} `json:"annotations,omitempty"`
}

func main() {
	var messages []message
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		messages = append(messages, message{Role: "user", Content: in.Text()})
		body, err := json.Marshal(map[string]any{"model": "conclave", "messages": messages})
		if err != nil {
			log.Fatal(err)
		}
		r, err := http.Post("http://127.0.0.1:8080/v1/chat/completions", "application/json", bytes.NewReader(body))
		if err != nil {
			log.Fatal(err)
		}
		var answer struct {
			Choices []struct{ Message message }
			Verdict string
			Error   struct{ Message string }
		}
		err = json.NewDecoder(r.Body).Decode(&answer)
		_ = r.Body.Close()
		if err != nil || len(answer.Choices) == 0 {
			log.Fatal(err, answer.Error.Message)
		}
		said := answer.Choices[0].Message
		messages = append(messages, message{Role: "assistant", Content: said.Content})
		fmt.Println(said.Content)
		printed := map[string]bool{}
		for _, a := range said.Annotations {
			if !printed[a.Citation.URL] {
				fmt.Println(a.Citation.URL)
			}
			printed[a.Citation.URL] = true
		}
		fmt.Println("verdict:", answer.Verdict)
	}
}
