package jet

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"github.com/nats-io/nats.go"
)

// Headers of messages.
const (
	headPos    = "Sanflow-Pos"
	headRows   = "Sanflow-Rows"
	headSum    = "Sanflow-Sum"
	headKind   = "Sanflow-Kind"
	headObject = "Sanflow-Object"

	kindHole = "hole"
	kindEnd  = "end"
)

// HeaderRoom is how many bytes of a message are left for headers.
const HeaderRoom = 2 << 10

// Note is what the headers of a message say.
type Note struct {
	Seq    uint64
	Spans  []Span
	Rows   int
	Sum    [sha256.Size]byte
	Object string // or empty
	Hole   bool
	Late   bool // it is in the side stream
	End    *End
}

// First is the position of the first row.
func (n *Note) First() int64 { return n.Spans[0].From }

// Subject returns where the message with that first position goes.
func Subject(stream string, first int64) string { return stream + ".p." + strconv.FormatInt(first, 10) }

// EndSubject returns where the end of a stream stands.
func EndSubject(stream string) string { return stream + ".end" }

// Record returns a message of rows. It takes body over.
func Record(stream string, spans []Span, rows int, body []byte) *nats.Msg {
	sum := sha256.Sum256(body)
	m := nats.NewMsg(Subject(stream, spans[0].From))
	m.Data = body
	m.Header.Set(headPos, formatSpans(spans))
	m.Header.Set(headRows, strconv.Itoa(rows))
	m.Header.Set(headSum, hex.EncodeToString(sum[:]))
	identify(m, sum)
	return m
}

// identify sets what the broker knows the message by: its position and content.
func identify(m *nats.Msg, sum [sha256.Size]byte) {
	m.Header.Set(nats.MsgIdHdr, m.Subject+":"+hex.EncodeToString(sum[:12]))
	m.Header.Set(nats.ExpectedLastSubjSeqHdr, "0")
}

// Elsewhere makes the body of m an object.
func Elsewhere(m *nats.Msg) (name string, body []byte) {
	name, body = m.Header.Get(headSum), m.Data
	m.Header.Set(headObject, name)
	m.Data = nil
	return name, body
}

// Hole returns a message that says that there is nothing at a position.
func Hole(stream string, pos int64) *nats.Msg {
	m := Record(stream, []Span{{pos, pos}}, 0, nil)
	m.Header.Set(headKind, kindHole)
	Afresh(m)
	return m
}

// Afresh lets the broker take a message that it had, and that was deleted there, within
// its window of de-duplication. That its position is empty remains the condition.
func Afresh(m *nats.Msg) { m.Header.Del(nats.MsgIdHdr) }

// SumOf returns the sum in the headers of a message, as a text.
func SumOf(h nats.Header) string { return h.Get(headSum) }

var (
	errForeign = errors.New("it is not of sanflow: it has no positions")
	errNoSum   = errors.New("it has no checksum")
)

// Read reads the headers of a message, and checks all of them: any client may have written
// them.
func Read(stream, subject string, h nats.Header, seq uint64) (n Note, err error) {
	n.Seq = seq
	if h.Get(headKind) == kindEnd {
		n.End, err = parseEnd(h.Get(headSum))
		return n, err
	}
	text := h.Get(headPos)
	if text == "" {
		return n, errForeign
	}
	if n.Spans, err = parseSpans(text); err != nil {
		return n, err
	}
	if subject != Subject(stream, n.First()) {
		return n, fmt.Errorf("its positions begin with %d, but it came by %s", n.First(), subject)
	}
	rows, err := strconv.Atoi(h.Get(headRows))
	if err != nil || rows < 0 || rows > math.MaxInt32 {
		return n, fmt.Errorf("it says that it has %.20q rows", h.Get(headRows))
	}
	sum := h.Get(headSum)
	if len(sum) != hex.EncodedLen(len(n.Sum)) { // which may be as long as a message
		return n, errNoSum
	}
	if _, err := hex.Decode(n.Sum[:], []byte(sum)); err != nil {
		return n, errNoSum
	}
	switch kind := h.Get(headKind); {
	case kind == kindHole && rows == 0:
		n.Hole = true
	case kind != "":
		return n, fmt.Errorf("it is of the unknown kind %.20q", kind)
	case rows == 0:
		return n, errors.New("it has no rows")
	}
	switch count := positions(n.Spans); {
	case n.Hole && count > 1:
		return n, fmt.Errorf("it is a hole of %d positions, want one", count)
	case !n.Hole && count > int64(rows): // or it would keep others from what is theirs
		return n, fmt.Errorf("it says that it has %d rows at %d positions", rows, count)
	}
	if n.Object = h.Get(headObject); n.Object != "" && n.Object != hex.EncodeToString(n.Sum[:]) {
		return n, fmt.Errorf("it names the object %.80q, want that of its checksum", n.Object)
	}
	n.Rows = rows
	return n, nil
}

// Verify compares a body with its checksum.
func (n *Note) Verify(body []byte) error {
	if sha256.Sum256(body) != n.Sum {
		return errors.New("it is damaged: its checksum is another")
	}
	return nil
}

// End is how many messages a stream has, and which.
type End struct {
	Messages int64  `json:"messages"`
	Rows     int64  `json:"rows"`
	Digest   Digest `json:"digest"`
}

// EndMessage returns the message that ends a stream.
func EndMessage(stream string, e End) (*nats.Msg, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	m := nats.NewMsg(EndSubject(stream))
	m.Header.Set(headKind, kindEnd)
	m.Header.Set(headSum, string(text))
	identify(m, sha256.Sum256(text))
	Afresh(m)
	return m, nil
}

func parseEnd(text string) (*End, error) {
	e := &End{}
	if err := json.Unmarshal([]byte(text), e); err != nil || e.Messages < 0 || e.Rows < 0 {
		return nil, errors.New("the mark of the end cannot be read")
	}
	return e, nil
}

// Digest is a sum over messages in which their order does not matter: of the
// hashes of their positions and contents, modulo 2²⁵⁶.
type Digest [4]uint64

// digestOf is the digest of one message.
func digestOf(n *Note) (d Digest) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %d ", formatSpans(n.Spans), n.Rows)
	h.Write(n.Sum[:])
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	for i := range d {
		d[i] = binary.LittleEndian.Uint64(sum[8*i:])
	}
	return d
}

// Add adds the digest of other messages.
func (d *Digest) Add(other Digest) {
	carry := uint64(0)
	for i := range d {
		d[i], carry = bits.Add64(d[i], other[i], carry)
	}
}

// Count adds a message to what the end of its stream says.
func (e *End) Count(n *Note) { e.add(int64(n.Rows), digestOf(n)) }

func (e *End) add(rows int64, d Digest) {
	e.Messages++
	e.Rows += rows
	e.Digest.Add(d)
}

// MarshalText writes 64 hexadecimal digits.
func (d Digest) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%016x%016x%016x%016x", d[0], d[1], d[2], d[3]), nil
}

// UnmarshalText reads them.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != 64 {
		return errors.New("a digest has 64 digits")
	}
	for i := range d {
		x, err := strconv.ParseUint(string(text[16*i:16*i+16]), 16, 64)
		if err != nil {
			return err
		}
		d[i] = x
	}
	return nil
}
