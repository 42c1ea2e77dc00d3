package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest/brokertest"
	"github.com/sanflow/sanflow/flow/kafka"
	"github.com/sanflow/sanflow/flow/message"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// broker runs a cluster with a topic, and returns its addresses.
func broker(t *testing.T, partitions int32) []string {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, "graphs"), kfake.GroupMinSessionTimeout(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c.ListenAddrs()
}

// quick are the times of a reader that is soon taken for dead.
var quick = []kgo.Opt{
	kgo.SessionTimeout(time.Second), kgo.HeartbeatInterval(200 * time.Millisecond), kgo.RebalanceTimeout(2 * time.Second),
	kgo.RetryTimeout(3 * time.Second), kgo.FetchMaxWait(200 * time.Millisecond),
}

// TestTopic runs the checks on three partitions.
func TestTopic(t *testing.T) {
	brokertest.Run(t, func(t *testing.T) brokertest.Connect {
		seeds := broker(t, 3)
		return func() (message.Topic, func()) {
			dial, kill := brokertest.Dialer()
			return topic(seeds, kgo.Dialer(dial)), kill
		}
	})
}

func topic(seeds []string, o ...kgo.Opt) kafka.Topic {
	return kafka.Topic{Seeds: seeds, Name: "graphs", Group: "test", Options: append(o, quick...)}
}

// send sends messages.
func send(t *testing.T, seeds []string, messages []message.Message) {
	t.Helper()
	s, err := topic(seeds).Send(t.Context())
	if err == nil {
		err = errors.Join(s.Send(t.Context(), messages), s.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestCommit completes messages out of order: the position that is committed is the lowest that is
// not complete.
func TestCommit(t *testing.T) {
	seeds, ctx := broker(t, 1), t.Context()
	var ten []message.Message
	for i := range int64(10) {
		ten = append(ten, message.Message{Producer: "a", Number: i + 1, Body: []byte("x")})
	}
	send(t, seeds, ten)
	for _, c := range []struct{ first, open int64 }{{1, 6}, {6, 10}, {10, 0}} {
		r, err := topic(seeds).Receive(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for n := c.first; n <= 10; {
			some, err := r.Receive(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range some {
				if m.Number != n {
					t.Fatalf("message %d, want %d", m.Number, n)
				}
				if n != c.open {
					r.Ack(m)
				}
				n++
			}
			if n < 10 {
				time.Sleep(700 * time.Millisecond) // for a commit before Close
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// families is a pipeline up to the fields of graphs; batches a training of it. One record is one
// message.
func families() flow.Pipeline {
	return flow.From(sources.Families{Graphs: 240, Rows: 5}).
		Via(operators.Channel{By: labeling.NormalizedDegree}).
		Via(operators.Select{W: 8, By: labeling.Betweenness}).
		Via(operators.Assemble{K: 4}).
		Via(operators.Normalize{})
}

func train(p flow.Pipeline, c sinks.Checkpoint, each func(nn.Result) error) (*nn.CNN, flow.Pipeline) {
	net := &nn.CNN{Seed: 3}
	return net, p.Via(operators.Batch{Size: 16}).To(sinks.Train{Net: net, Checkpoint: c, OnStep: each})
}

func saved(t *testing.T, net *nn.CNN) string {
	t.Helper()
	var b strings.Builder
	if err := net.Save(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTraining kills a training again and again, and its producer once: the model has the bytes of
// one process. 240 graphs come in messages of 5 and are learned from in batches of 16.
func TestTraining(t *testing.T) {
	ctx := t.Context()
	net, p := train(families(), sinks.Checkpoint{}, nil)
	if err := p.Run(ctx); err != nil {
		t.Fatal(err)
	}
	want := saved(t, net)
	seeds := broker(t, 1)
	for _, stop := range []int{20, -1} { // the producer is stopped after 20 messages, and begins anew
		ctx, cancel := context.WithCancel(ctx)
		n := 0
		p := families().To(message.Sink{Topic: topic(seeds), Producer: "families", Encode: func(w io.Writer, rec arrow.Record) error {
			if n == stop {
				cancel()
			}
			n++
			to := ipc.NewWriter(w, ipc.WithSchema(rec.Schema()))
			return errors.Join(to.Write(rec), to.Close())
		}})
		if err := p.Run(ctx); (err != nil) != (stop > 0) {
			t.Fatal(err)
		}
		cancel()
	}
	check := sinks.Checkpoint{File: filepath.Join(t.TempDir(), "net"), Every: -1, Resume: true}
	for _, steps := range []int{2, 1, 4, -1} { // before a kill
		dial, kill := brokertest.Dialer()
		dead, n := errors.New("killed"), 0
		src := message.Source{Topic: topic(seeds, kgo.Dialer(dial)), Idle: 2 * time.Second}
		net, p = train(flow.From(src), check, func(nn.Result) error {
			if n++; n == steps {
				kill()
				return dead
			}
			return nil
		})
		run := p.Start(ctx)
		if err := run.Wait(); steps > 0 != errors.Is(err, dead) || steps < 0 && err != nil {
			t.Fatal(err)
		}
		t.Log(run.Stats().Stages[0].Notes)
	}
	if saved(t, net) != want {
		t.Error("the model has other bytes than that of one process")
	}
}

// TestRebalance lets readers join a group, leave it and die, while six producers' messages are
// processed: every row is written at least once, and at the end nothing is left.
func TestRebalance(t *testing.T) {
	const producers, each = 6, 60
	seeds, ctx := broker(t, 6), t.Context()
	var all []message.Message
	for p := range producers {
		for n := range each {
			all = append(all, message.Message{Producer: fmt.Sprint("producer", p), Number: int64(n) + 1, Body: fmt.Appendf(nil, `{"id":"%d/%d"}`, p, n)})
		}
	}
	send(t, seeds, all)
	var mu sync.Mutex
	seen := map[string]int{}
	read := func(idle time.Duration, stop <-chan struct{}, kill bool) {
		dial, cut := brokertest.Dialer()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		r, err := topic(seeds, kgo.Dialer(dial)).Receive(ctx)
		if err != nil {
			t.Error(err)
			return
		}
		go func() {
			select {
			case <-stop:
				if kill {
					cut()
				}
				cancel()
			case <-ctx.Done():
			}
		}()
		for last := time.Now(); ctx.Err() == nil && time.Since(last) < idle; {
			some, _ := r.Receive(ctx) // of a killed reader it is an error
			for _, m := range some {
				last = time.Now()
				mu.Lock()
				seen[string(m.Body)]++
				mu.Unlock()
				r.Ack(m)
				time.Sleep(5 * time.Millisecond)
			}
		}
		_ = r.Close() // of a killed reader it is an error
	}
	var readers sync.WaitGroup
	never, first, second := make(chan struct{}), make(chan struct{}), make(chan struct{})
	readers.Go(func() { read(time.Hour, first, true) })
	time.Sleep(400 * time.Millisecond)
	readers.Go(func() { read(time.Hour, second, false) })
	time.Sleep(400 * time.Millisecond)
	close(first)
	readers.Go(func() { read(3*time.Second, never, false) })
	time.Sleep(400 * time.Millisecond)
	close(second)
	readers.Wait()
	repeats := 0
	for p := range producers {
		for n := range each {
			row := fmt.Sprintf(`{"id":"%d/%d"}`, p, n)
			if seen[row] == 0 {
				t.Errorf("%s is lost", row)
			}
			repeats += seen[row] - 1
		}
	}
	t.Logf("%d of %d rows came again", repeats, producers*each)
	r, err := topic(seeds).Receive(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); time.Since(start) < time.Second; {
		if left, err := r.Receive(ctx); err != nil || len(left) > 0 {
			t.Fatalf("%v, and %d messages are left", err, len(left))
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
