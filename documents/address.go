package documents

import (
	"mime"
	"path"
	"strings"
)

// IsAddress reports whether the name of a file is the address of a page: it begins with http:// or https://.
func IsAddress(name string) bool {
	return strings.HasPrefix(name, "https://") || strings.HasPrefix(name, "http://")
}

// pathOf returns the path of a file's name: of an address, without its host and what follows the path; "" if it has
// none. Other names are returned as they are.
func pathOf(name string) string {
	if !IsAddress(name) {
		return name
	}
	_, rest, _ := strings.Cut(name, "://")
	_, below, _ := strings.Cut(rest, "/")
	if end := strings.IndexAny(below, "?#"); end >= 0 {
		below = below[:end]
	}
	return below
}

// endingOf returns the ending of a file's name in lower case, with its dot; "" if it has none. A site says what its
// pages are: the ending of an address, such as .org, counts only if no format, or plain text, is declared.
func endingOf(name, declared string) string {
	declared, _, _ = mime.ParseMediaType(declared)
	if IsAddress(name) && declared != Text && formatOfType(declared).MediaType != "" {
		return ""
	}
	return strings.ToLower(path.Ext(pathOf(name)))
}

// IsReadable reports whether files of a media type are read, other than archives. If the type is "" or
// application/octet-stream, the ending of the name decides; without an ending, "" is read and the other is not.
func IsReadable(mediaType, name string) bool {
	found := formatOfType(mediaType)
	if found.MediaType == "" && (mediaType == "" || mediaType == "application/octet-stream") {
		ending := endingOf(name, "")
		if ending == "" {
			return mediaType == ""
		}
		found = formatOfEnding(ending)
	}
	return found.MediaType != "" && !found.archive
}
