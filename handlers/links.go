package handlers

import (
	"bytes"
	"fmt"
	"strings"
)

// linkUnder returns a page with the base path put before every link to this server (href, src, action). An empty base
// changes nothing.
func linkUnder(page []byte, base string) []byte {
	if base == "" {
		return page
	}
	for _, attribute := range []string{"href", "src", "action"} {
		page = bytes.ReplaceAll(page, []byte(attribute+`="/`), []byte(attribute+`="`+base+"/"))
	}
	return page
}

// setServerPath returns the OpenAPI document, in JSON or YAML, with the base path as its server's URL. It fails if the
// document does not have exactly one server "/". An empty base changes nothing.
func setServerPath(document []byte, base string) ([]byte, error) {
	if base == "" {
		return document, nil
	}
	for _, root := range []string{`"url":"/"`, `"url": "/"`, "url: /\n", "url: /}"} {
		if end := strings.TrimPrefix(root[len(root)-1:], "/"); bytes.Count(document, []byte(root)) == 1 {
			return bytes.Replace(document, []byte(root), []byte(root[:len(root)-len(end)-1]+base+end), 1), nil
		}
	}
	return nil, fmt.Errorf("the document names no server that is reached under %s", base)
}
