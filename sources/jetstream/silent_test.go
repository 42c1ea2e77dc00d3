package jetstream_test

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	sink "github.com/sanflow/sanflow/sinks/jetstream"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/jetstream"
)

// journal is what a logger has written.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// logged gives a connection a logger of warnings.
func logged(c *jetstream.Connection) *journal {
	j := &journal{}
	c.Logger = slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return j
}

// silent returns the address of a server that takes connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
		}
	})
	t.Cleanup(func() { l.Close(); tasks.Wait() })
	return l.Addr().String()
}

// A broker that says nothing is logged after some seconds, with its address and without a password,
// and is an error when Patience is over. So is one that wants TLS before it says anything.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	for what, at := range map[string]string{"silent": silent(t), "TLS first": tlsFirst(t)} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c := jetstream.Connection{URL: "nats://ann:secret@" + at, Patience: 5 * time.Second}
			log := logged(&c)
			begin := time.Now()
			_, err := run(t, flow.From(jetstream.Source{Connection: c, Stream: "s", Ordered: true}), flow.Options{})
			wantError(t, what, err, "s", "for 5s")
			if took, text := time.Since(begin), log.String(); took > 30*time.Second || !strings.Contains(text, at) || strings.Contains(text, "secret") || strings.Count(text, "\n") != 1 {
				t.Errorf("after %v the log is %q, want one line with %s", took, text, at)
			}
		})
	}
}

// A broker that falls silent while a stream is written and while it is waited for is logged, and is
// an error when Patience is over.
func TestFallsSilent(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"writes", "works", "reads"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			s := jettest.Start(t, nil)
			p := jettest.NewProxy(t, s.Addr().String(), 1<<40, 1)
			c := jetstream.Connection{URL: s.ClientURL(), Patience: 6 * time.Second}
			src := sources.Families{Graphs: 40, Rows: 4}
			stream := sink.Sink{Connection: c, Stream: "s", Queue: way == "works", NoEnd: true}
			if _, err := run(t, flow.From(src).To(stream), flow.Options{}); err != nil {
				t.Fatal(err)
			}
			c.URL = p.URL()
			log := logged(&c)
			from := jetstream.Source{Connection: c, Stream: "s", Ordered: way == "reads"}
			pipeline := flow.From(from).To(after(10, p.Freeze))
			switch way {
			case "works":
				from.Durable, from.Pending = "w", 2
				pipeline = flow.From(from).To(after(5, p.Freeze))
			case "writes":
				stream.Connection, stream.Stream = c, "written"
				pipeline = flow.From(&interrupted{Source: src, at: 5, do: p.Freeze}).To(stream)
			}
			_, err := run(t, pipeline, flow.Options{})
			if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(log.String(), p.URL()) {
				t.Errorf("%v; the log is %q", err, log)
			}
		})
	}
}
