package sources_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/internal/arrowipc"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// A message that is zeroed, in a file, is no end of it, and neither is a footer
// that names fewer batches; in a stream whose size is known nothing may follow
// the end.
func TestIPCZeroed(t *testing.T) {
	for _, stream := range []bool{false, true} {
		var b bytes.Buffer
		store(t, stages(t)["graphs"], sinks.IPC{W: &b, Stream: stream})
		marker := []byte{0xff, 0xff, 0xff, 0xff}
		n := 0
		for at := range b.Len() - 8 {
			if !bytes.HasPrefix(b.Bytes()[at:], marker) || bytes.Equal(b.Bytes()[at+4:at+8], make([]byte, 4)) {
				continue
			}
			for _, size := range []int{4, 8, 64} {
				bad := bytes.Clone(b.Bytes())
				clear(bad[at:][:size])
				rows, _, err := drain(sources.IPC{Reader: bytes.NewReader(bad)}, memory.DefaultAllocator)
				if err == nil {
					t.Errorf("stream %t: %d bytes zeroed at %d: %d rows and no error", stream, size, at, len(rows))
				}
			}
			n++
		}
		if n < 4 {
			t.Errorf("%d messages, want more", n)
		}
	}
	// The last of several blocks taken out of the footer.
	var b bytes.Buffer
	recs := stages(t)["graphs"]
	store(t, recs, sinks.IPC{W: &b})
	f, err := arrowipc.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()), nil)
	if err != nil || f.Len() != len(recs) || f.Len() < 2 {
		t.Fatal(f.Len(), err)
	}
	last := f.Blocks[f.Len()-1]
	bad := bytes.Clone(b.Bytes())
	entry := []byte{byte(last.Offset), byte(last.Offset >> 8), byte(last.Offset >> 16), 0, 0, 0, 0, 0}
	at := bytes.LastIndex(bad, entry) // in the vector of f.Len() blocks of 24 bytes
	count := bad[at-24*(f.Len()-1)-4:]
	if int(count[0]) != f.Len() {
		t.Fatalf("the footer has %d blocks, want %d", count[0], f.Len())
	}
	count[0]--
	if _, _, err := drain(sources.IPC{Reader: bytes.NewReader(bad)}, memory.DefaultAllocator); err == nil || !strings.Contains(err.Error(), "belong to no block") {
		t.Errorf("a block less: %v", err)
	}
}

// broken is a connection that is lost: its error wraps io.EOF, and is no end.
type broken struct {
	io.Reader
	err error
}

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = b.err
	}
	return n, err
}

type lost struct{}

func (lost) Error() string { return "the connection is lost" }
func (lost) Unwrap() error { return io.EOF }

func TestIPCLost(t *testing.T) {
	var b bytes.Buffer
	store(t, stages(t)["graphs"], sinks.IPC{W: &b, Stream: true})
	s, err := arrowipc.NewStream(bytes.NewReader(b.Bytes()), -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	meta, body, err := s.Next()
	if err != nil {
		t.Fatal(err)
	}
	// Between two messages, and within one.
	first := bytes.Index(b.Bytes(), meta[:32]) + len(meta) + len(body)
	for _, n := range []int{first, first + 20, first - 20, 3, 0} {
		r, err := (sources.IPC{Reader: broken{bytes.NewReader(b.Bytes()[:n]), lost{}}}).Open(context.Background(), memory.DefaultAllocator)
		for err == nil {
			rec, e := r.Next(context.Background())
			if err = e; err == nil {
				rec.Release()
			}
		}
		if err == io.EOF || !strings.Contains(err.Error(), "the connection is lost") {
			t.Errorf("%d bytes: %v", n, err)
		}
		if r != nil {
			r.Close()
		}
	}
}
