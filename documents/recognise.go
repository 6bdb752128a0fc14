package documents

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Recogniser recognises the text in pictures (OCR) with the program tesseract. A nil *Recogniser means that tesseract
// is not installed.
type Recogniser struct {
	Program   string        // path of the program tesseract
	Languages string        // as in its option -l, such as "eng+deu"
	Time      time.Duration // for all scanned pages of one PDF
	// Confine returns the command that runs tesseract with a bound of memory and without the network; nil: tesseract
	// runs unconfined.
	Confine Confiner
}

// Confiner returns a command, not started yet, that runs a program with restricted memory and network. The program is
// killed when ctx ends.
type Confiner func(ctx context.Context, program string, args ...string) *exec.Cmd

// recognisedPage is the text that tesseract found on one page.
type recognisedPage struct {
	paragraphs []string
	confidence float64 // mean over its words, from 0 to 100
	words      int
}

const (
	mostRecognised = 16 << 20 // bytes of tesseract's output for one picture
	installOCR     = "install tesseract (Debian: apt-get install tesseract-ocr) to have pictures of text read"
)

// recognise returns the text on each page of a picture, in order; only a TIFF has several pages. It runs tesseract
// and blocks until that ends. The error is an *UnreadableError if tesseract cannot read the picture or finds too
// much text, ctx's error if ctx ends first, or why tesseract did not start.
func (o *Recogniser) recognise(ctx context.Context, picture []byte) ([]recognisedPage, error) {
	confine := o.Confine
	if confine == nil {
		confine = exec.CommandContext
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	cmd := confine(running, o.Program, "stdin", "stdout", "-l", o.Languages, "tsv")
	cmd.Env = append(cmd.Env, "OMP_THREAD_LIMIT=1") // one core for one picture
	cmd.Stdin = bytes.NewReader(picture)
	stderr := &firstBytes{most: 1 << 10}
	cmd.Stderr = stderr
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	runtime.LockOSThread() // the program is killed with the thread that started it
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start tesseract: %w", err)
	}
	table, err := io.ReadAll(io.LimitReader(out, mostRecognised+1))
	tooMuch := len(table) > mostRecognised
	if tooMuch {
		stop()
	}
	err = errors.Join(err, cmd.Wait())
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case tooMuch:
		return nil, unreadable(TooLarge, nil, "tesseract finds more than %d bytes of text in it", mostRecognised)
	case err != nil:
		return nil, unreadable(Damaged, nil, "tesseract does not read it: %s", lastLine(stderr.b))
	}
	return readRecognised(table), nil
}

// lastLine returns the last line of a program's output, without white space around it; "-" if there is none.
func lastLine(output []byte) string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(output), "?")), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return "-"
}

// The columns of tesseract's table, of which the rows with level wordLevel are words.
const (
	levelColumn      = 0
	pageColumn       = 1
	paragraphColumn  = 3
	confidenceColumn = 10
	textColumn       = 11
	wordLevel        = "5"
)

// readRecognised returns the pages in tesseract's TSV output, in order. The words of a paragraph are joined by
// spaces. Rows with missing columns are skipped, and what follows a row of more than mostRecognised bytes is lost.
func readRecognised(table []byte) (pages []recognisedPage) {
	lines := bufio.NewScanner(bytes.NewReader(table))
	lines.Buffer(nil, mostRecognised)
	var words []string
	last := ""
	flush := func() {
		if len(words) > 0 {
			page := &pages[len(pages)-1]
			page.paragraphs = append(page.paragraphs, strings.Join(words, " "))
			words = nil
		}
	}
	number := ""
	for lines.Scan() {
		row := strings.Split(lines.Text(), "\t")
		if len(row) <= textColumn || row[levelColumn] == "level" {
			continue
		}
		if row[pageColumn] != number {
			flush()
			number = row[pageColumn]
			pages = append(pages, recognisedPage{})
		}
		text := strings.TrimSpace(strings.Join(row[textColumn:], " "))
		confidence, err := strconv.ParseFloat(row[confidenceColumn], 64)
		if row[levelColumn] != wordLevel || text == "" || err != nil {
			continue
		}
		if paragraph := strings.Join(row[:paragraphColumn+1], "."); paragraph != last {
			flush()
			last = paragraph
		}
		words = append(words, text)
		page := &pages[len(pages)-1]
		page.confidence += (confidence - page.confidence) / float64(page.words+1)
		page.words++
	}
	flush()
	return pages
}

// readPicture recognises the text of a picture and returns it as a document with a page for each page of the
// picture, cut into passages if the extractor cuts. The error is an *UnreadableError if tesseract is not installed,
// finds no text or takes longer than Limits.Time, and ctx's error if ctx ends first.
func (r *Extractor) readPicture(ctx context.Context, in Input, mediaType string) (*Document, error) {
	o := r.recogniser()
	if o == nil {
		return nil, unreadable(NoText, nil, "it is a picture: %s", installOCR)
	}
	limited, cancel := context.WithTimeout(ctx, r.limits.Time)
	defer cancel()
	pages, err := r.recogniseInTurn(limited, in.Data)
	if err != nil {
		if ctx.Err() == nil && limited.Err() != nil {
			return nil, unreadable(TooSlow, nil, "recognising its letters took longer than %v", r.limits.Time)
		}
		return nil, err
	}
	found := map[int]recognisedPage{}
	for i, page := range pages {
		found[i+1] = page
	}
	d := &Document{MediaType: mediaType, Pages: len(pages)}
	d.insertRecognised(found, r.limits)
	if len(d.Blocks) == 0 {
		return nil, unreadable(NoText, nil, "tesseract finds no letters in the picture (languages: %s)", o.Languages)
	}
	if r.words > 0 {
		if err := d.cutInto(r.words); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// recogniser returns the Recogniser of the pool; nil if there is no pool or tesseract is not installed.
func (r *Extractor) recogniser() *Recogniser {
	if r.pool == nil {
		return nil
	}
	return r.pool.options.OCR
}

// recogniseInTurn waits for the turn of the extractor's group in the pool, and then recognises a picture. The pool must
// not be nil. It fails if ctx ends first, or if the program that recognises fails.
func (r *Extractor) recogniseInTurn(ctx context.Context, picture []byte) ([]recognisedPage, error) {
	if err := r.pool.enter(ctx, r.group); err != nil {
		return nil, err
	}
	defer r.pool.leave()
	return r.pool.options.OCR.recognise(ctx, picture)
}

// recogniseBlank recognises the text of the scanned pages of a PDF (answer.blank), one page after the other, and
// inserts it into the answer's document, or makes a document if there was none. Pages that fail or come after
// Recogniser.Time are named in its warnings; without tesseract the warning says what to install. If there is still
// no text, a.refused says why. The error is ctx's, or an *UnreadableError if the document then has too many
// passages.
func (r *Extractor) recogniseBlank(ctx context.Context, request *request, a *answer) error {
	blank := a.blank
	o := r.recogniser()
	warn := func(pages []int, why string) {
		if len(pages) == 0 {
			return
		}
		text := fmt.Sprintf("%d of its pages are pictures without text (%s): %s", len(pages), pageList(pages), why)
		if a.document != nil {
			a.document.Warnings = append(a.document.Warnings, text)
		} else {
			a.refused = &UnreadableError{Reason: NoText, Detail: text}
		}
	}
	if o == nil {
		warn(blank, installOCR)
		return nil
	}
	began := time.Now()
	found := map[int]recognisedPage{}
	var failed, late []int
	var cause error
	for i, number := range blank {
		left := o.Time - time.Since(began)
		if left <= 0 {
			late = blank[i:]
			break
		}
		page, err := r.recognisePage(ctx, request, number, min(left, r.limits.Time))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = append(failed, number)
			cause = err
			continue
		}
		found[number] = page
	}
	d := a.document
	if d == nil {
		d = &Document{MediaType: PDF, Pages: slices.Max(blank)}
	}
	d.insertRecognised(found, r.limits)
	if len(d.Blocks) > 0 {
		a.document, a.refused = d, nil
		if r.words > 0 {
			if err := d.cutInto(r.words); err != nil {
				return err
			}
		}
	}
	if len(failed) > 0 {
		warn(failed, "their letters were not recognised: "+cause.Error())
	}
	warn(late, fmt.Sprintf("there was no time left to recognise their letters (%v for a file, documents.ocr.time)", o.Time))
	if a.document == nil && a.refused == nil {
		why := fmt.Sprintf("tesseract finds no letters on its %d pages (languages: %s)", len(blank), o.Languages)
		a.refused = &UnreadableError{Reason: NoText, Detail: why}
	}
	return nil
}

// recognisePage draws a page of a PDF, numbered from 1, and returns its recognised text, which has no words if
// tesseract finds none. It fails if drawing and recognising together, with the waits for a process, take longer
// than `within`.
func (r *Extractor) recognisePage(
	ctx context.Context,
	request *request,
	number int,
	within time.Duration,
) (page recognisedPage, err error) {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	draw := *request
	draw.draw, draw.words = number, 0
	draw.dpi = recognisedDPI
	a, err := r.pool.ask(limited, r.group, &draw)
	if err != nil {
		return page, err
	}
	if len(a.members) != 1 {
		return page, unreadable(Damaged, nil, "the page cannot be drawn")
	}
	pages, err := r.recogniseInTurn(limited, a.members[0].Data)
	if err != nil || len(pages) == 0 {
		return page, err
	}
	return pages[0], nil
}

// pageList returns "page 3" or "pages 1, 2, 3", with at most five numbers and then "and others". It names the pages
// in the order given.
func pageList(pages []int) string {
	var names []string
	for _, page := range pages[:min(len(pages), 5)] {
		names = append(names, strconv.Itoa(page))
	}
	list := strings.Join(names, ", ")
	if len(pages) > 5 {
		list += " and others"
	}
	if len(pages) == 1 {
		return "page " + list
	}
	return "pages " + list
}

// insertRecognised inserts the text of recognised pages, by page number from 1, between the blocks of the other
// pages. It sets Document.Recognised and adds a warning with tesseract's confidence, or changes nothing if no page
// has a word. Pages from the one on that exceeds Limits.TextBytes or Limits.Blocks are left out with a warning.
func (d *Document) insertRecognised(found map[int]recognisedPage, limits Limits) {
	numbers := make([]int, 0, len(found))
	size, blocks := len(d.Text), len(d.Blocks)
	var beyond, read []int
	sum := 0.
	least, leastPage := 101., 0
	for number := range found {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	for _, number := range numbers {
		page := found[number]
		for _, p := range page.paragraphs {
			size += len(p) + len("\n\n")
		}
		blocks += len(page.paragraphs)
		if size > limits.TextBytes || blocks > limits.Blocks {
			beyond = append(beyond, number)
			continue
		}
		if page.words == 0 {
			continue
		}
		read = append(read, number)
		sum += page.confidence
		if page.confidence < least {
			least = page.confidence
			leastPage = number
		}
	}
	if len(beyond) > 0 {
		warning := pageList(beyond) + ": their recognised text is more than is read of one file"
		d.Warnings = append(d.Warnings, warning)
	}
	if len(read) == 0 {
		return
	}
	d.merge(read, found)
	d.Recognised = map[int]int{}
	for _, number := range read {
		d.Recognised[number] = int(found[number].confidence + 0.5)
	}
	if len(read) == 1 {
		warning := fmt.Sprintf("page %d was recognised by tesseract, with a confidence of %.0f of 100", leastPage, least)
		d.Warnings = append(d.Warnings, warning)
		return
	}
	d.Warnings = append(d.Warnings, fmt.Sprintf(
		"%d pages (%s) were recognised by tesseract, with a mean confidence of %.0f of 100; least on page %d: %.0f",
		len(read), pageList(read), sum/float64(len(read)), leastPage, least,
	))
}

// merge inserts the recognised paragraphs of pages, which are in ascending order, each before the first block of a
// later page. found has the paragraphs by page. It replaces the text and the blocks of the document.
func (d *Document) merge(pages []int, found map[int]recognisedPage) {
	var text strings.Builder
	var blocks []Block
	add := func(gap, piece string, b Block) {
		if len(blocks) > 0 {
			text.WriteString(gap)
		}
		b.Begin = text.Len()
		text.WriteString(piece)
		b.End = text.Len()
		blocks = append(blocks, b)
	}
	insert := func(before int) {
		for len(pages) > 0 && pages[0] < before {
			for _, p := range found[pages[0]].paragraphs {
				add("\n\n", p, Block{Kind: Paragraph, Page: pages[0]})
			}
			pages = pages[1:]
		}
	}
	end := 0
	for _, b := range d.Blocks {
		before := len(blocks)
		insert(b.Page)
		gap := d.Text[end:b.Begin]
		if len(blocks) > before {
			gap = "\n\n"
		}
		end = b.End
		add(gap, d.TextOf(b), b)
	}
	insert(int(^uint(0) >> 1))
	d.Text = text.String()
	d.Blocks = blocks
}

// recognisedBlocks looks up tesseract's confidence for the pieces of a document, one after the other.
type recognisedBlocks struct {
	d    *Document
	next int // index of the first block that may overlap the next piece
}

// least returns the lowest confidence of the recognised pages that a piece has text of; ok is false if the piece has no
// recognised text. It must be called for the pieces in their order.
func (r *recognisedBlocks) least(p Piece) (confidence int, ok bool) {
	if len(r.d.Recognised) == 0 {
		return 0, false
	}
	for r.next < len(r.d.Blocks) && r.d.Blocks[r.next].End <= p.Begin {
		r.next++
	}
	for _, b := range r.d.Blocks[r.next:] {
		if b.Begin >= p.End {
			break
		}
		if c, recognised := r.d.Recognised[b.Page]; recognised && (!ok || c < confidence) {
			confidence, ok = c, true
		}
	}
	return confidence, ok
}
