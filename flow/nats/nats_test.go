package nats_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/flow/flowtest/brokertest"
	"github.com/sanflow/sanflow/flow/message"
	topics "github.com/sanflow/sanflow/flow/nats"
	"github.com/sanflow/sanflow/internal/leak"
)

// TestMain runs the tests, or, in a process of its own, a server in the directory of an argument,
// until its input ends: a server in this process would leave goroutines.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "server" {
		serve(os.Args[2])
		return
	}
	leak.VerifyTestMain(m)
}

func serve(dir string) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true})
	if err != nil {
		log.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		log.Fatal("the server does not start")
	}
	fmt.Println(s.ClientURL())
	_, _ = io.Copy(io.Discard, os.Stdin)
	s.Shutdown()
	s.WaitForShutdown()
}

// broker runs a server, and returns its URL.
func broker(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "server", t.TempDir())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(url)
}

// stream makes an empty stream.
func stream(t *testing.T, url, name string, window time.Duration) {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(context.Background(), jetstream.StreamConfig{Name: name, Subjects: []string{name}, Duplicates: window}); err != nil {
		t.Fatal(err)
	}
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

func (d dialer) Dial(network, address string) (net.Conn, error) {
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
	defer stop()
	return d(ctx, network, address)
}

// topic is a topic of a reader that is soon taken for dead.
func topic(url string, o ...nats.Option) topics.Topic {
	return topics.Topic{URL: url, Stream: "graphs", Durable: "test", AckWait: time.Second, Options: o}
}

// TestTopic runs the checks on a broker that soon forgets the ids of messages.
func TestTopic(t *testing.T) {
	brokertest.Run(t, func(t *testing.T) brokertest.Connect {
		url := broker(t)
		stream(t, url, "graphs", 100*time.Millisecond)
		return func() (message.Topic, func()) {
			dial, kill := brokertest.Dialer()
			return topic(url, nats.SetCustomDialer(dialer(dial)), nats.ReconnectWait(50*time.Millisecond), nats.MaxReconnects(4)), kill
		}
	})
}

// TestIDs sends messages twice: the broker stores them once.
func TestIDs(t *testing.T) {
	url := broker(t)
	stream(t, url, "graphs", time.Minute)
	ctx := context.Background()
	var twenty []message.Message
	for i := range int64(20) {
		twenty = append(twenty, message.Message{Producer: "a", Number: i + 1, Body: []byte("{}\n")})
	}
	for range 2 {
		s, err := topic(url).Send(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(ctx, twenty); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r, err := topic(url).Receive(ctx)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for some, last := []message.Message(nil), time.Now(); err == nil && time.Since(last) < time.Second; {
		if some, err = r.Receive(ctx); len(some) > 0 {
			last = time.Now()
		}
		for _, m := range some {
			n++
			r.Ack(m)
		}
	}
	if err != nil || n != 20 {
		t.Errorf("%v, %d messages; want 20", err, n)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// TestAbsent wants a clear error of what does not exist.
func TestAbsent(t *testing.T) {
	url, ctx := broker(t), context.Background()
	_, err := topic(url).Receive(ctx)
	if err == nil || !strings.Contains(err.Error(), "stream graphs, consumer test: ") {
		t.Errorf("Receive: %v", err)
	}
	if _, err = topic(url).Send(ctx); err == nil || !strings.Contains(err.Error(), "stream graphs: ") {
		t.Errorf("Send: %v", err)
	}
}
