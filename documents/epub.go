package documents

import (
	"encoding/xml"
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// readEPUB writes the chapters of a book to w, in reading order and without the table of contents, and returns its
// title; "" if it has none. The error is an *UnreadableError if the book is encrypted, a part is damaged or a limit
// is exceeded.
func readEPUB(w *writer, data []byte) (string, error) {
	p, err := openParts(data, w.limits)
	if err != nil {
		return "", err
	}
	if rights, err := p.read("META-INF/encryption.xml"); err != nil {
		return "", err
		// fonts alone may be obfuscated
	} else if strings.Contains(string(rights), "EncryptedData") && !strings.Contains(string(rights), "embedding") {
		return "", unreadable(Encrypted, nil, "it is encrypted")
	}
	container, err := p.read("META-INF/container.xml")
	if err != nil {
		return "", err
	}
	packagePart := ""
	if err := newElements(container).each(func(e xml.StartElement) bool {
		if e.Name.Local == "rootfile" && packagePart == "" {
			packagePart = within("", value(e, "full-path"))
		}
		return false
	}, func(string) {}, func(xml.EndElement) {}); err != nil {
		return "", err
	}
	book, err := p.read(packagePart)
	if err != nil {
		return "", err
	}
	if book == nil {
		return "", unreadable(Damaged, nil, "it names no package")
	}
	folder, _, _ := cutLast(packagePart)
	chapters, title, err := chaptersOf(book, folder)
	if err != nil {
		return "", err
	}
	for _, chapter := range chapters {
		text, err := p.read(chapter)
		if err != nil {
			return "", err
		}
		decoded, err := w.decode(text, "")
		if err != nil {
			return "", err
		}
		tree, err := html.Parse(strings.NewReader(decoded))
		if err != nil {
			return "", unreadable(Damaged, err, "its chapter %.80s cannot be read", chapter)
		}
		writeDOM(w, w.prune(tree))
	}
	return title, nil
}

// chaptersOf returns the paths of the chapters in the archive, in reading order and each once, and the title, from the
// content of a book's package file. folder is the path of the folder of the package file; "" for the root of the
// archive. The title is "" if there is none. Damaged XML is an *UnreadableError.
func chaptersOf(book []byte, folder string) (chapters []string, title string, err error) {
	parts := map[string]string{}
	read := map[string]bool{}
	inTitle := false
	var name strings.Builder
	err = newElements(book).each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "title":
			inTitle = name.Len() == 0
		case "item":
			isPage := strings.Contains(value(e, "media-type"), "html")
			contents := strings.Contains(" "+value(e, "properties")+" ", " nav ")
			if href, err := url.PathUnescape(value(e, "href")); err == nil && isPage && !contents {
				parts[value(e, "id")] = within(folder, href)
			}
		case "itemref":
			if part := parts[value(e, "idref")]; part != "" && !read[part] {
				read[part] = true
				chapters = append(chapters, part)
			}
		}
		return false
	}, func(s string) {
		if inTitle {
			name.WriteString(s)
		}
	}, func(xml.EndElement) { inTitle = false })
	return chapters, clean(name.String()), err
}
