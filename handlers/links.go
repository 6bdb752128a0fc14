package handlers

import (
	"bytes"
	"fmt"
	"strings"
)

// linked returns a page whose links to this server begin with the base path.
func linked(page []byte, base string) []byte {
	if base == "" {
		return page
	}
	for _, attribute := range []string{"href", "src", "action"} {
		page = bytes.ReplaceAll(page, []byte(attribute+`="/`), []byte(attribute+`="`+base+"/"))
	}
	return page
}

// describedAt returns the OpenAPI document whose server is the base path.
func describedAt(document []byte, base string) ([]byte, error) {
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
