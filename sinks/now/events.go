package now

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.etcd.io/bbolt"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/message"
	"github.com/sanflow/sanflow/sinks/choose"
)

// These constants bound what a Live reads from a stream of lines.
const (
	mostLine  = 1 << 20 // bytes of a line
	mostLines = 512     // lines of a batch
	mostShown = 80      // bytes that the dead letter of a longer line keeps
	pause     = 50 * time.Millisecond
)

// ParseEvent reads an event from a line. kind is that of a line without one, choose.Form.Kind, and id is choose.Form.ID: an event has
// its id under this name or under "id".
func ParseEvent(line []byte, kind, id string) (e choose.Event, err error) {
	read := json.NewDecoder(bytes.NewReader(line))
	read.UseNumber()
	var fields choose.Row
	if err := read.Decode(&fields); err != nil {
		return e, fmt.Errorf("want a JSON object: %w", err)
	}
	if fields == nil {
		return e, errors.New("want a JSON object, and it is null")
	}
	if _, err := read.Token(); err != io.EOF {
		return e, errors.New("there is text behind the JSON object")
	}
	// encoding/json accepts duplicate names and invalid UTF-8; jsontext returns an error.
	if _, err := jsontext.NewDecoder(bytes.NewReader(line)).ReadValue(); err != nil {
		return e, err
	}
	e.Kind = kind
	if kind, ok := fields["kind"]; ok {
		e.Kind, _ = kind.(string)
		delete(fields, "kind")
	}
	if row, nested := fields["row"].(map[string]any); nested && len(fields) == 1 && e.Kind != choose.SetClass && e.Kind != choose.RemoveNode {
		fields = row
	}
	same := "id"
	if id != "" && id != "id" {
		same = "id, or " + id
	}
	switch e.Kind {
	case choose.SetClass:
		rename(fields, id, "id")
		e.ID, e.Class = choose.TextOf(fields["id"]), choose.TextOf(fields["class"])
		if _, ok := fields["class"]; !ok || len(fields) != 2 || e.ID == "" || !isText(fields["id"]) || !isText(fields["class"]) {
			return e, fmt.Errorf(`want {"kind": "set_class", "id": …, "class": …}, with the name %s`, same)
		}
	case choose.RemoveNode:
		rename(fields, id, "id")
		if e.ID = choose.TextOf(fields["id"]); len(fields) != 1 || e.ID == "" || !isText(fields["id"]) {
			return e, fmt.Errorf(`want {"kind": "remove_node", "id": …}, with the name %s`, same)
		}
	case choose.AddRow, choose.SetNode:
		rename(fields, "id", id)
		e.Row = fields
	default:
		e.Row = fields
	}
	return e, nil
}

// rename renames a field, unless a field has the new name already.
func rename(fields choose.Row, from, to string) {
	if value, ok := fields[from]; ok && from != "" && to != "" {
		if _, ok := fields[to]; !ok {
			delete(fields, from)
			fields[to] = value
		}
	}
}

// parse reads an event, with the default kind and the column of ids of the current rows.
func (l *Live) parse(line []byte) (choose.Event, error) {
	l.mu.Lock()
	form := l.rows.Form()
	l.mu.Unlock()
	return ParseEvent(line, form.Kind, form.ID)
}

// isText reports whether a value of JSON is a string, a number or null.
func isText(value any) bool {
	switch value.(type) {
	case nil, string, json.Number:
		return true
	}
	return false
}

// Post accepts all events of a text, one a line, or none. An error about a line is a *choose.Refused, whose Index is that of the line, from 0.
func (l *Live) Post(text []byte) (int64, error) {
	var events []choose.Event
	var lines []int
	number := 0
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			e, err := l.parse(line)
			if err != nil {
				l.mu.Lock()
				l.counts.Refused++
				l.mu.Unlock()
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

// ServeHTTP accepts the events of the body of a POST, one a line, and answers {"position": N}. 400: the line of the message cannot be accepted, and no event is.
// 413: the body is too large, or has more events than Options.Queue. 429: the queue is full. 503: the store cannot be written. There is no authentication.
func (l *Live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		http.Error(w, "want POST", http.StatusMethodNotAllowed)
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, l.opt.Body))
	var position int64
	if err == nil {
		position, err = l.Post(text)
	} else { // a client that still sends may not read the answer, so as much again is read and left out
		_, _ = io.CopyN(io.Discard, r.Body, l.opt.Body)
	}
	if err != nil {
		status := http.StatusServiceUnavailable
		switch {
		case errors.Is(err, ErrFull):
			status = http.StatusTooManyRequests
		case errors.As(err, new(*choose.Refused)):
			status = http.StatusBadRequest
		case errors.Is(err, ErrMany), errors.As(err, new(*http.MaxBytesError)):
			status = http.StatusRequestEntityTooLarge
		}
		if status >= http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		http.Error(w, err.Error(), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set(At, strconv.FormatInt(position, 10))
	fmt.Fprintf(w, "{\"position\": %d}\n", position)
}

// line is a line of a stream, with its event or the reason why it has none.
type line struct {
	text  []byte
	event choose.Event
	err   error  // why the line is no event
	place string // place of the message of the line, for the dead letter; "" without a message
}

// lineOf parses a copy of text, which the caller may overwrite.
func (l *Live) lineOf(text []byte) line {
	e, err := l.parse(text)
	return line{text: bytes.Clone(text), event: e, err: err}
}

// accept accepts the lines of a stream that can be accepted, and notes in the same transaction how far sources are read. If the store fails, it tries again.
func (l *Live) accept(ctx context.Context, lines []line, read map[string]int64) error {
	for failed := false; ; failed = true {
		r := &request{lines: lines, read: read}
		l.apply(r)
		if r.err == nil || l.err() != nil {
			return r.err
		}
		if !failed {
			l.opt.Note(fmt.Sprintf("%v: the events are read when the store can be written", r.err))
		}
		if err := sleep(ctx, time.Second); err != nil {
			return errors.Join(r.err, err)
		}
	}
}

// readUpTo returns how far each source was read whose name begins with prefix, by the rest of the name.
func (l *Live) readUpTo(prefix string) (map[string]int64, error) {
	read := map[string]int64{}
	return read, l.db.View(func(tx *bbolt.Tx) (err error) {
		c := tx.Bucket(readBucket).Cursor()
		for name, text := c.Seek([]byte(prefix)); err == nil && bytes.HasPrefix(name, []byte(prefix)); name, text = c.Next() {
			read[string(name[len(prefix):])], err = strconv.ParseInt(string(text), 10, 64)
		}
		return err
	})
}

// Consume accepts the events of the messages of a topic until ctx ends or the topic fails: a message has one or more lines. The store keeps with the events
// which messages have been read, so that each is accepted once. Lines that cannot be accepted go to the refused ones. The reader of the topic is this one alone.
func (l *Live) Consume(ctx context.Context, topic message.Topic) error {
	name := topic.String() + "\x00"
	after, err := l.readUpTo(name)
	if err != nil {
		return err
	}
	r, err := topic.Follow(ctx, after)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		messages, err := r.Receive(ctx)
		if err == nil && len(messages) > 0 {
			err = l.accept(ctx, l.linesOf(messages), numbersOf(name, messages))
		}
		if err != nil {
			return err
		}
		if lag, ok := r.(flow.Lagger); ok {
			behind := lag.Lag()
			l.mu.Lock()
			l.counts.Behind = behind
			l.mu.Unlock()
		}
	}
}

// linesOf returns the lines of messages. A message without a line becomes one with an error.
func (l *Live) linesOf(messages []message.Message) (lines []line) {
	for _, m := range messages {
		before := len(lines)
		for text := range bytes.Lines(m.Body) {
			if text = bytes.TrimSpace(text); len(text) > 0 {
				lines = append(lines, l.lineOf(text))
			}
		}
		if len(lines) == before {
			lines = append(lines, line{err: errors.New("the message has no line")})
		}
		for i := before; i < len(lines); i++ {
			lines[i].place = m.Place
		}
	}
	return lines
}

// numbersOf returns the number of the last message of each producer, by name and producer.
func numbersOf(name string, messages []message.Message) map[string]int64 {
	read := map[string]int64{}
	for _, m := range messages {
		read[name+m.Producer] = m.Number
	}
	return read
}

// Read accepts the events of lines until their end. Lines that cannot be accepted go to the refused ones.
func (l *Live) Read(ctx context.Context, r io.Reader) error {
	return l.read(ctx, r, func(int64) map[string]int64 { return nil })
}

// Follow accepts the events of the lines of a file, and of those that are appended to it, until ctx ends. The store keeps how far the file has been read
// with the events, so that each line is accepted once, whatever path names the file. A file that takes its place, as logs rotate, is read behind it from its
// beginning: one with another first line. Note is told.
func (l *Live) Follow(ctx context.Context, path string) error {
	for {
		if err := l.followOne(ctx, path); err != nil {
			return err
		}
	}
}

// firstMark ends the name of a source under which the store keeps the digest of the first line.
const firstMark = "\x00first line"

// followOne follows a file until another one has its path.
func (l *Live) followOne(ctx context.Context, path string) error {
	name, err := filepath.EvalSymlinks(path)
	if err == nil {
		name, err = filepath.Abs(name)
	}
	if err != nil {
		return fmt.Errorf("now: %w", err)
	}
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("now: %w", err)
	}
	defer f.Close()
	read, err := l.readUpTo(name)
	at := read[""]
	if was, ok := read[firstMark]; ok && was != firstLine(f) {
		at = 0
		l.opt.Note(fmt.Sprintf("%s is another file than the one that was read: it is read from its beginning", path))
	}
	if err == nil {
		err = grown(f, at)
	}
	if err == nil {
		_, err = f.Seek(at, io.SeekStart)
	}
	if err != nil {
		return err
	}
	return l.read(ctx, &tail{File: f, ctx: ctx, path: path, at: at}, func(n int64) map[string]int64 {
		return map[string]int64{name: at + n, name + firstMark: firstLine(f)}
	})
}

// tail reads a file that may grow. Its end is that of the file when another file has its path.
type tail struct {
	*os.File
	ctx             context.Context
	path            string
	at              int64 // bytes that were read
	isMoved, isLeft bool
}

func (t *tail) Read(p []byte) (int, error) {
	for {
		n, err := t.File.Read(p)
		if t.at += int64(n); n > 0 || err != io.EOF || t.isLeft {
			return n, err
		}
		if err := cmp.Or(grown(t.File, t.at), sleep(t.ctx, pause)); err != nil {
			return 0, err
		}
		is, err := t.Stat()
		there, err2 := os.Stat(t.path)
		t.isLeft = t.isMoved // the file is read once more after it was moved
		t.isMoved = err == nil && err2 == nil && !os.SameFile(is, there)
	}
}

// firstLine returns a digest of the first line of a file, of at most 4096 bytes.
func firstLine(f *os.File) int64 {
	text := make([]byte, 4096)
	n, _ := f.ReadAt(text, 0)
	line, _, _ := bytes.Cut(text[:n], []byte("\n"))
	sum := sha256.Sum256(line)
	return int64(binary.BigEndian.Uint64(sum[:]) >> 1)
}

// grown returns an error if a file has fewer bytes than were read.
func grown(f *os.File, at int64) error {
	info, err := f.Stat()
	if err == nil && info.Size() < at {
		err = fmt.Errorf("now: %s has %d bytes, and %d have been read: want the file to which lines were appended", f.Name(), info.Size(), at)
	}
	return err
}

// read accepts the events of the lines of r. read returns how far sources are read, for a number of bytes of r.
func (l *Live) read(ctx context.Context, r io.Reader, read func(n int64) map[string]int64) error {
	in := bufio.NewReaderSize(r, mostLine)
	var batch []line
	size, at := 0, int64(0) // bytes of batch, and of the lines so far
	var part []byte         // bytes of a line that has no end yet, at most the first mostLine
	length := 0             // bytes of this line
	for {
		text, err := in.ReadSlice('\n')
		length += len(text)
		part = append(part, text[:min(len(text), mostLine-len(part))]...)
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err != nil && err != io.EOF:
			return err // no line is lost: batch is empty when the buffer has no further line
		}
		if kept := bytes.TrimSpace(part); len(kept) > 0 {
			one := line{text: kept[:min(len(kept), mostShown)], err: fmt.Errorf("the line has more than %d bytes", mostLine)}
			if length <= mostLine {
				one = l.lineOf(kept)
			}
			batch, size = append(batch, one), size+len(kept)
		}
		at += int64(length)
		part, length = part[:0], 0
		next, _ := in.Peek(in.Buffered())
		if len(batch) > 0 && (err == io.EOF || len(batch) == mostLines || size >= mostLine || bytes.IndexByte(next, '\n') < 0) {
			if err := l.accept(ctx, batch, read(at)); err != nil {
				return err
			}
			batch, size = nil, 0
		}
		if err == io.EOF {
			return nil
		}
	}
}

func sleep(ctx context.Context, pause time.Duration) error {
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

// letter returns the dead letter of a line, with the reason and the place of its message.
func (l line) letter(why error) deadLetter {
	reason := why.Error()
	if l.place != "" {
		reason = l.place + ": " + reason
	}
	return deadLetter{strings.ToValidUTF8(string(l.text), "\uFFFD"), reason}
}
