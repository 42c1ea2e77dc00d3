package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// brokers are the servers of the broker, and a connection to them.
type brokers struct {
	all []*process
	nc  *nats.Conn
	js  jetstream.JetStream
}

// startBrokers starts the servers, and waits until streams can be made there. Somebody
// else may take a port before its server does: then there are others.
func (c *config) startBrokers(t *tasks) (*brokers, error) {
	for try := 1; ; try++ {
		ctx, cancel := context.WithCancelCause(t.ctx)
		own := &tasks{ctx: ctx, cancel: cancel}
		b, err := c.tryBrokers(own)
		if err == nil {
			context.AfterFunc(ctx, func() { t.cancel(context.Cause(ctx)) })
			t.Go(own.Wait)
			return b, nil
		}
		if why := context.Cause(ctx); why != nil {
			err = why
		}
		cancel(err)
		own.Wait()
		if try == 5 || t.ctx.Err() != nil || !strings.Contains(err.Error(), errPort.Error()) {
			return nil, err
		}
	}
}

func (c *config) tryBrokers(t *tasks) (*brokers, error) {
	all, url, err := c.servers()
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		t.start(p, func() {})
	}
	nc, err := connect(t.ctx, url)
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc)
	if err == nil {
		err = ready(t.ctx, js, len(all))
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	c.url = url
	return &brokers{all, nc, js}, nil
}

// servers returns the processes of the broker, and its URL.
func (c *config) servers() (all []*process, url string, err error) {
	ports, err := c.freePorts(2 * c.brokers)
	if err != nil {
		return nil, "", err
	}
	var urls, routes []string
	for i := range c.brokers {
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", ports[2*i]))
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", ports[2*i+1]))
	}
	for i := range c.brokers {
		b := brokerSettings{Name: fmt.Sprintf("broker-%d", i), Dir: filepath.Join(c.dir, fmt.Sprintf("broker-%d", i)), Port: ports[2*i]}
		if c.brokers > 1 {
			b.Cluster, b.Routes = ports[2*i+1], routes
		}
		text, err := json.Marshal(b)
		if err != nil {
			return nil, "", err
		}
		all = append(all, &process{role: roleBroker, name: b.Name, args: []string{"-role", roleBroker, "-url", urls[i], "-dir", b.Dir}, env: []string{brokerEnv + "=" + string(text)}})
	}
	return all, strings.Join(urls, ","), nil
}

// freePorts returns ports that nobody listens at just now.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// connect waits for the broker.
func connect(ctx context.Context, url string) (*nats.Conn, error) {
	for begin := time.Now(); ; {
		nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
		if err == nil {
			return nc, nil
		}
		if time.Since(begin) > time.Minute || !wait(ctx, 50*time.Millisecond) {
			return nil, err
		}
	}
}

// ready waits until the broker can make streams on all of its servers.
func ready(ctx context.Context, js jetstream.JetStream, servers int) error {
	var err error
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		try, stop := context.WithTimeout(ctx, 2*time.Second)
		_, err = js.CreateOrUpdateStream(try, jetstream.StreamConfig{Name: "ready", Replicas: servers, Storage: jetstream.MemoryStorage})
		if err == nil {
			err = js.DeleteStream(try, "ready")
		}
		stop()
		if err == nil {
			return nil
		}
		if !wait(ctx, 100*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
	return fmt.Errorf("the broker does not come up: %w", err)
}

func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
