package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// startBrokers starts the servers of a broker in this process, sets the URL, and returns what
// stops the servers. Another process may take a port before its server does: then it takes others.
func (c *config) startBrokers(ctx context.Context) (stop func(), err error) {
	for range 5 {
		var all []*server.Server
		all, err = c.tryBrokers(ctx)
		stop = func() {
			for _, s := range all {
				s.Shutdown()
			}
			for _, s := range all {
				s.WaitForShutdown()
			}
		}
		if err == nil {
			return stop, nil
		}
		stop()
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
	}
	return nil, err
}

func (c *config) tryBrokers(ctx context.Context) (all []*server.Server, err error) {
	options, err := c.servers()
	if err != nil {
		return nil, err
	}
	for _, o := range options {
		s, err := server.NewServer(o)
		if err != nil {
			return all, fmt.Errorf("the broker: %w", err)
		}
		all = append(all, s)
		s.Start()
	}
	var urls []string
	for _, s := range all {
		if !s.ReadyForConnections(3 * time.Second) {
			return all, errors.New("the broker cannot listen")
		}
		urls = append(urls, s.ClientURL())
	}
	c.url = strings.Join(urls, ",")
	if len(all) > 1 {
		return all, c.agreed(ctx)
	}
	return all, nil
}

// agreed waits until the servers can make a stream on all of them.
func (c *config) agreed(ctx context.Context) error {
	conn, err := nats.Connect(c.url)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	for begin := time.Now(); time.Since(begin) < time.Minute && wait(ctx, 100*time.Millisecond); {
		try, stop := context.WithTimeout(ctx, 2*time.Second)
		_, err = js.CreateOrUpdateStream(try, jetstream.StreamConfig{Name: "ready", Replicas: c.brokers, Storage: jetstream.MemoryStorage})
		if err == nil {
			err = js.DeleteStream(try, "ready")
		}
		stop()
		if err == nil {
			return nil
		}
	}
	return errors.Join(context.Cause(ctx), fmt.Errorf("the servers of the broker do not agree: %w", err))
}

// servers returns the settings of the servers. Several of them name each other's ports, which are
// free just now.
func (c *config) servers() (all []*server.Options, err error) {
	for i := range c.brokers {
		name := fmt.Sprintf("broker-%d", i)
		all = append(all, &server.Options{
			ServerName: name, Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: filepath.Join(c.dir, name), NoSigs: true, NoLog: true,
		})
	}
	if c.brokers == 1 {
		return all, nil
	}
	ports, err := c.freePorts(c.brokers)
	if err != nil {
		return nil, err
	}
	var routes []string
	for _, p := range ports {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", p))
	}
	for i, o := range all {
		o.Cluster = server.ClusterOpts{Name: "cluster", Host: "127.0.0.1", Port: ports[i], NoAdvertise: true}
		o.Routes = server.RoutesFromStr(strings.Join(routes, ","))
	}
	return all, nil
}

// freePorts returns ports at which no process listens just now.
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

// wait reports whether ctx has not ended meanwhile.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// checkURL refuses addresses that are not those of a broker.
func checkURL(urls string) error {
	if urls == "" {
		return nil
	}
	for _, s := range strings.Split(urls, ",") {
		s = strings.TrimSpace(s)
		if !strings.Contains(s, "://") && strings.Contains(s, ":") {
			s = "nats://" + s
		}
		u, err := url.Parse(s)
		if err != nil || u.Hostname() == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) {
			return fmt.Errorf("-url is not that of a broker, want nats://host:port, or several with commas between them")
		}
	}
	return nil
}
