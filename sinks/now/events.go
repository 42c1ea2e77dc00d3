package now

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"go.etcd.io/bbolt"

	"github.com/sanflow/sanflow/sinks/choose"
)

// Bounds of a stream of lines.
const (
	mostLine  = 1 << 20 // bytes of a line
	mostLines = 512     // of a batch
	pause     = 50 * time.Millisecond
)

// ParseEvent reads an event from a line.
func ParseEvent(line []byte) (e choose.Event, err error) {
	read := json.NewDecoder(bytes.NewReader(line))
	read.UseNumber()
	var fields choose.Row
	if err := read.Decode(&fields); err != nil {
		return e, fmt.Errorf("want a JSON object: %w", err)
	}
	if _, err := read.Token(); err != io.EOF {
		return e, errors.New("there is text behind the JSON object")
	}
	e.Kind = choose.AddRow
	if kind, ok := fields["kind"]; ok {
		e.Kind, _ = kind.(string)
		delete(fields, "kind")
	}
	switch row, nested := fields["row"].(map[string]any); {
	case e.Kind == choose.SetClass:
		e.ID, e.Class = choose.TextOf(fields["id"]), choose.TextOf(fields["class"])
		if _, ok := fields["class"]; !ok || len(fields) != 2 || e.ID == "" {
			return e, errors.New(`want {"kind": "set_class", "id": …, "class": …}`)
		}
	case e.Kind != choose.AddRow:
		return e, fmt.Errorf(`the kind is %.80q, want %s or %s; a row with a column "kind" is written {"row": {"kind": …}}`, e.Kind, choose.AddRow, choose.SetClass)
	case nested && len(fields) == 1:
		e.Row = row
	default:
		e.Row = fields
	}
	return e, nil
}

// Post accepts all events of a text, one a line, or none. An error about a line is a *choose.Refused, whose Index is that of the line, from 0.
func (l *Live) Post(text []byte) (int64, error) {
	var events []choose.Event
	var lines []int
	number := 0
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			e, err := ParseEvent(line)
			if err != nil {
				l.stats.refused.Add(1)
				return 0, &choose.Refused{Index: number, Err: err}
			}
			events, lines = append(events, e), append(lines, number)
		}
		number++
	}
	position, err := l.Apply(events...)
	if refused := (*choose.Refused)(nil); errors.As(err, &refused) {
		refused.Index = lines[refused.Index]
	}
	return position, err
}

// After and At are the headers of the position that a request waits for, and of that of an answer.
const (
	After = "X-Sanflow-After"
	At    = "X-Sanflow-Position"
)

// mostBody is how many bytes of a body ServeHTTP reads.
const mostBody = 8 << 20

// ServeHTTP accepts the events of the body of a POST, one a line, and answers {"position": N}. 400: the line of the message cannot be accepted, and no event is.
// 413: the body is too large. 429: the queue is full. There is no authentication.
func (l *Live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		http.Error(w, "want POST", http.StatusMethodNotAllowed)
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	var position int64
	if err == nil {
		position, err = l.Post(text)
	}
	if err != nil {
		status := StatusOf(err)
		if status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		http.Error(w, err.Error(), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set(At, strconv.FormatInt(position, 10))
	fmt.Fprintf(w, "{\"position\": %d}\n", position)
}

// StatusOf is the status of HTTP for an error of Post.
func StatusOf(err error) int {
	switch {
	case errors.Is(err, ErrFull):
		return http.StatusTooManyRequests
	case errors.As(err, new(*choose.Refused)):
		return http.StatusBadRequest
	case errors.As(err, new(*http.MaxBytesError)):
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusServiceUnavailable
}

// Read accepts the events of lines until their end. Lines that cannot be accepted go to the refused ones.
func (l *Live) Read(ctx context.Context, r io.Reader) error {
	return l.read(ctx, r, "", 0, false)
}

// Follow accepts the events of the lines of a file, and of those that are appended to it, until ctx ends. The store keeps how far the file has been read
// with the events, so that each line is accepted once.
func (l *Live) Follow(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("now: %w", err)
	}
	defer f.Close()
	var at int64
	err = l.db.View(func(tx *bbolt.Tx) (err error) {
		if text := tx.Bucket(readBucket).Get([]byte(path)); text != nil {
			at, err = strconv.ParseInt(string(text), 10, 64)
		}
		return err
	})
	info, e := f.Stat()
	switch {
	case err != nil || e != nil:
		return errors.Join(err, e)
	case info.Size() < at:
		return fmt.Errorf("now: %s has %d bytes, and %d have been read: want the file to which lines were appended", path, info.Size(), at)
	}
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return err
	}
	return l.read(ctx, f, path, at, true)
}

// read accepts lines. at is the number of bytes before them.
func (l *Live) read(ctx context.Context, r io.Reader, source string, at int64, follow bool) error {
	in := bufio.NewReaderSize(r, mostLine)
	var batch []choose.Event
	var lines [][]byte
	flush := func() error {
		if len(lines) == 0 {
			return nil
		}
		var r *request
		for {
			r = &request{events: batch, each: true, source: source, read: at}
			if l.apply(r); !errors.Is(r.err, ErrFull) {
				break
			}
			if err := sleep(ctx); err != nil {
				return err
			}
		}
		for _, refused := range r.refused {
			if err := l.refuse(lines[refused.Index], refused.Err); err != nil {
				return err
			}
		}
		batch, lines = batch[:0], lines[:0]
		return r.err
	}
	var part []byte // of a line that has no end yet
	tooLong := false
	for {
		text, err := in.ReadSlice('\n')
		switch {
		case err == bufio.ErrBufferFull:
			at, tooLong, part = at+int64(len(text)), true, append(part[:0], text[:80]...)
			continue
		case err == io.EOF && follow:
			part = append(part, text...)
			if err := flush(); err != nil {
				return err
			}
			if err := sleep(ctx); err != nil {
				return err
			}
			continue
		case err != nil && err != io.EOF:
			return errors.Join(flush(), err)
		}
		line := append(part, text...)
		part = nil
		if at += int64(len(line)); tooLong {
			at -= 80
		}
		if kept := bytes.TrimSpace(line); len(kept) > 0 {
			e, wrong := ParseEvent(kept)
			if tooLong {
				wrong = fmt.Errorf("the line has more than %d bytes", mostLine)
			}
			if wrong != nil {
				l.stats.refused.Add(1)
				if err := l.refuse(kept, wrong); err != nil {
					return err
				}
			} else {
				batch, lines = append(batch, e), append(lines, bytes.Clone(kept))
			}
		}
		tooLong = false
		if err == io.EOF || len(lines) == mostLines || in.Buffered() == 0 {
			if err := flush(); err != nil || len(line) == 0 {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

func sleep(ctx context.Context) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// deadLetter is a line of the file of refused lines.
type deadLetter struct {
	Line   string `json:"line"`
	Reason string `json:"reason"`
}

// text is the letter as JSON.
func (d deadLetter) text() []byte {
	text, _ := json.Marshal(d)
	return append(text, '\n')
}
