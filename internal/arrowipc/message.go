package arrowipc

import "fmt"

// Headers of messages, numbered as in the union MessageHeader of Arrow's
// Message.fbs.
const (
	headerSchema     = 1
	headerDictionary = 2
	headerBatch      = 3
)

// versionV5 is the first metadata version in which unions have no validity.
const versionV5 = 4

// message is the metadata of a schema or a batch.
type message struct {
	*flat
	version, kind int
	header        table
	body          int64 // bytes
}

// open reads the beginning of an encapsulated message: a marker, which the oldest files lack, the length, and
// a flatbuffer.
func open(b []byte) (message, error) {
	f := &flat{b: b}
	skip, n := 4, f.i32(0)
	if n == -1 {
		skip, n = 8, f.i32(4)
	}
	f.b = f.at(skip, n)
	if f.bad {
		return message{}, fmt.Errorf("a message of %d bytes, where %d are: %w", n, max(0, len(b)-skip), errDamaged)
	}
	t := f.follow(0)
	m := message{f, f.int16Field(t, 0), int(f.byteField(t, 1)), f.tableField(t, 2), f.int64Field(t, 3)}
	if f.bad || m.header == 0 || m.body < 0 {
		return m, errDamaged
	}
	return m, nil
}
