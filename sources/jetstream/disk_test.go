package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	sink "github.com/sanflow/sanflow/sinks/jetstream"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/jetstream"
)

// A full store slows publishers and loses nothing. A store that stays full is an error.
func TestFullStore(t *testing.T) {
	t.Parallel()
	o := jettest.Options(t.TempDir(), 0)
	o.JetStreamMaxStore = 100 << 10
	c := jetstream.Connection{URL: jettest.Start(t, o).ClientURL()}
	src := sources.Families{Graphs: 400, Rows: 8} // 300 KB
	feed := flow.From(src).To(sink.Sink{Connection: c, Stream: "queue", Queue: true}).Start(context.Background())
	full := func() int64 {
		stages := feed.Stats().Stages
		return stages[len(stages)-1].Notes["full"]
	}
	n := 0
	slow := sinkFunc(func(rec arrow.Record) {
		for begin := time.Now(); n == 0 && full() == 0 && time.Since(begin) < time.Minute; {
			time.Sleep(10 * time.Millisecond)
		}
		n += int(rec.NumRows())
	})
	_, err := run(t, flow.From(jetstream.Source{Connection: c, Stream: "queue", Durable: "w", Wait: time.Minute, Pending: 2}).To(slow), flow.Options{})
	if bad := feed.Wait(); err != nil || bad != nil || n != 400 || full() == 0 {
		t.Errorf("%d rows, %v, %v; it was full %d times", n, err, bad, full())
	}
	_, err = run(t, flow.From(src).To(sink.Sink{Connection: c, Stream: "kept", FullWait: 100 * time.Millisecond}), flow.Options{})
	wantError(t, "no room is made", err, "kept", "it has been full for")
}

// A broker that is full says so within seconds where waiting makes no room: of a stream that is kept,
// and of one that it has no room to make. The error has the broker's code.
func TestFullBroker(t *testing.T) {
	t.Parallel()
	o := jettest.Options(t.TempDir(), 0)
	o.JetStreamMaxStore = 100 << 10
	c := jetstream.Connection{URL: jettest.Start(t, o).ClientURL()}
	for _, test := range []struct {
		code nc.ErrorCode
		to   sink.Sink
	}{
		{10023, sink.Sink{Connection: c, Stream: "kept"}},
		{10047, sink.Sink{Connection: c, Stream: "large", MaxBytes: 1 << 20}},
	} {
		ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
		err := flow.From(sources.Families{Graphs: 400, Rows: 8}).To(test.to).Run(ctx)
		stop()
		var api *nc.APIError
		if !errors.Is(err, sink.ErrFull) || !errors.As(err, &api) || api.ErrorCode != test.code {
			t.Errorf("%v, want ErrFull with code %d", err, test.code)
		}
		wantError(t, "a full broker", err, test.to.Stream, fmt.Sprintf("err_code=%d", test.code))
	}
}

// The disk of the broker is full: a publisher waits or returns an error. Once there is room
// and the broker has restarted, all messages are there.
func TestFullDisk(t *testing.T) {
	if os.Getenv("SANFLOW_LONG") == "" {
		t.Skip("mounts a small disk, as root; set SANFLOW_LONG")
	}
	dir := t.TempDir()
	mount := func(options string) {
		t.Helper()
		if text, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", dir).CombinedOutput(); err != nil {
			t.Skipf("a small disk cannot be mounted: %v: %s", err, text)
		}
	}
	mount("size=1m")
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	t.Parallel()
	s := jettest.Start(t, jettest.Options(dir, 0))
	port := s.Addr().(*net.TCPAddr).Port
	c := jetstream.Connection{URL: s.ClientURL(), Patience: 3 * time.Second}
	src := sources.Families{Graphs: 8000, Rows: 8}
	want := rows(t, flow.From(src))
	_, err := run(t, flow.From(src).To(sink.Sink{Connection: c, Stream: "s", FullWait: 3 * time.Second}), flow.Options{})
	wantError(t, "a full disk", err, "s", "")
	t.Log(err)

	c.Patience = time.Minute
	done := make(chan error, 1)
	go func() { done <- flow.From(src).To(sink.Sink{Connection: c, Stream: "s"}).Run(context.Background()) }()
	time.Sleep(2 * time.Second)
	jettest.Stop(s)
	mount("remount,size=64m")
	jettest.Start(t, jettest.Options(dir, port))
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := rows(t, flow.From(jetstream.Source{Connection: c, Stream: "s", Ordered: true})); !slices.Equal(got, want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
}
