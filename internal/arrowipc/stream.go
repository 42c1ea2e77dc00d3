package arrowipc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Stream is an IPC stream of messages.
type Stream struct {
	Schema *Schema

	r    io.Reader
	left int64 // remaining bytes; -1 if unknown
	take Take
	meta space
	body space
}

// NewStream reads the schema. size is the size of the whole input, or -1. If the size is unknown,
// memory is allocated as bytes arrive, not by the length in a message.
func NewStream(r io.Reader, size int64, take Take) (*Stream, error) {
	s := &Stream{r: r, left: size, take: take}
	m, _, _, err := s.message()
	switch {
	case err == io.EOF:
		return nil, errors.New("it is empty, and no Arrow IPC")
	case err != nil:
		return nil, err
	case m.kind != headerSchema:
		return nil, fmt.Errorf("the first message is of kind %d, want a schema", m.kind)
	}
	s.Schema, err = m.schema(m.header)
	return s, err
}

// Next returns the message and the body of the next batch, or io.EOF. They are valid until the next call.
func (s *Stream) Next() (meta, body []byte, err error) {
	for {
		m, meta, body, err := s.message()
		switch {
		case err != nil:
			return nil, nil, err
		case m.kind == headerBatch:
			return meta, body, nil
		case m.kind == headerSchema:
			return nil, nil, errors.New("there is a second schema")
		case m.kind != headerDictionary: // dictionaries belong to columns that are not read
			return nil, nil, fmt.Errorf("a message of kind %d, want a record batch", m.kind)
		}
	}
}

// message reads the next message.
func (s *Stream) message() (m message, meta, body []byte, err error) {
	head := make([]byte, 8)
	n, err := io.ReadFull(s.r, head)
	if s.left >= 0 {
		s.left = max(0, s.left-int64(n))
	}
	word := binary.LittleEndian.Uint32(head)
	switch {
	case n == 0 && err == io.EOF:
		return m, nil, nil, io.EOF // some writers omit the end marker
	case n >= 4 && word == 0: // the end marker of old writers
		return m, nil, nil, s.end()
	case err != nil:
		return m, nil, nil, truncated(err)
	case word != 0xffffffff:
		return m, nil, nil, errors.New("it is no Arrow IPC: there is no message where one should be")
	}
	size := int64(int32(binary.LittleEndian.Uint32(head[4:])))
	if size == 0 {
		return m, nil, nil, s.end()
	}
	if meta, err = s.read(&s.meta, size, 8); err != nil {
		return m, nil, nil, fmt.Errorf("the metadata of a message: %w", err)
	}
	copy(meta, head)
	if m, err = open(meta); err != nil {
		return m, nil, nil, err
	}
	if body, err = s.read(&s.body, m.body, 0); err != nil {
		return m, nil, nil, fmt.Errorf("the body of a message: %w", err)
	}
	return m, meta, body, nil
}

// end returns io.EOF, or an error if bytes follow the end marker.
func (s *Stream) end() error {
	more := s.left
	if b, ok := s.r.(interface{ Buffered() int }); ok && more < 0 {
		more = int64(b.Buffered())
	}
	if more > 0 {
		return fmt.Errorf("there are %d bytes after the end of the stream: it is damaged", more)
	}
	return io.EOF
}

// read reads n bytes into to, after free unused bytes. If the size of the input is unknown, memory grows as
// bytes arrive.
func (s *Stream) read(to *space, n, free int64) ([]byte, error) {
	step := n
	switch {
	case n < 0 || s.left >= 0 && n > s.left:
		return nil, fmt.Errorf("%d bytes, where %d are left: it is damaged or truncated", n, s.left)
	case s.left >= 0:
		s.left -= n
	default:
		step = min(n, max(1<<20, 8*int64(cap(*to))-free))
	}
	if err := s.take.ask(n, 1); err != nil {
		return nil, err
	}
	b := to.bytes(free + step)
	for at := free; ; {
		if err := s.take.ask(0, 1); err != nil {
			return nil, err
		}
		end := min(at+piece, free+step)
		if _, err := io.ReadFull(s.r, b[at:end]); err != nil {
			return nil, truncated(err)
		}
		if at = end; at == free+n {
			return b, nil
		}
		if at == free+step {
			step = min(n, 4*step)
			more := make(space, (free+step+7)/8)
			copy(more, *to)
			*to, b = more, more.bytes(free+step)
		}
	}
}

func truncated(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errTruncated
	}
	return err
}
