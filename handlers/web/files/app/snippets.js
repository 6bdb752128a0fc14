// A request as a line of curl, and as a program in Python, JavaScript and Go.
import { target } from "./api.js";

const shell = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

export function snippets(request, withKey) {
  const { url, value } = target("/v1/search", request);
  const json = JSON.stringify(value, null, 2);
  const python = json
    .replaceAll(/: true/g, ": True")
    .replaceAll(/: false/g, ": False")
    .replaceAll(/: null/g, ": None");
  return {
    curl: `curl -s ${url} \\\n  -H 'content-type: application/json' \\\n${withKey ? '  -H "X-API-Key: $CONCLAVE_KEY" \\\n' : ""}  -d ${shell(json)}`,
    Python: `import json
${withKey ? "import os\n" : ""}import urllib.request

request = urllib.request.Request(
    ${JSON.stringify(url)},
    data=json.dumps(${python.replaceAll("\n", "\n    ")}).encode(),
    headers={"content-type": "application/json"${withKey ? ', "X-API-Key": os.environ["CONCLAVE_KEY"]' : ""}},
)
with urllib.request.urlopen(request) as response:
    answer = json.load(response)
for result in answer["results"]:
    print(result["rank"], result["id"], result["score"])`,
    JavaScript: `const response = await fetch(${JSON.stringify(url)}, {
  method: "POST",
  headers: { "content-type": "application/json"${withKey ? ', "X-API-Key": process.env.CONCLAVE_KEY' : ""} },
  body: JSON.stringify(${json.replaceAll("\n", "\n  ")}),
});
if (!response.ok) throw new Error((await response.json()).detail);
const answer = await response.json();
for (const result of answer.results) console.log(result.rank, result.id, result.score);`,
    Go: `package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
${withKey ? '\t"os"\n' : ""}	"strings"
)

const question = ${"`" + json.replaceAll("`", "\\u0060") + "`"}

func main() {
	request, err := http.NewRequest(http.MethodPost, ${JSON.stringify(url)}, strings.NewReader(question))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("content-type", "application/json")
${withKey ? '\trequest.Header.Set("X-API-Key", os.Getenv("CONCLAVE_KEY"))\n' : ""}	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Detail  string
		Results []struct {
			Rank  int
			ID    string
			Score float64
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		log.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		log.Fatal(answer.Detail)
	}
	for _, result := range answer.Results {
		fmt.Println(result.Rank, result.ID, result.Score)
	}
}`,
  };
}
