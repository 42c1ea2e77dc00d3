package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// brokers are the servers of the broker, and a connection to them.
type brokers struct {
	all []*mortal
	nc  *nats.Conn
	js  jetstream.JetStream
}

// startServers starts the servers, and waits until streams can be made there.
func (h *harness) startServers(t *tasks) (*brokers, error) {
	all, url, err := h.serverProcesses()
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		t.start(m, func() {})
	}
	nc, err := nats.Connect(url, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		return nil, err
	}
	h.url = url
	for begin := time.Now(); !nc.IsConnected(); {
		if time.Since(begin) > time.Minute || !wait(t.ctx, 20*time.Millisecond) {
			nc.Close()
			return nil, errors.Join(context.Cause(t.ctx), errors.New("there is no broker"))
		}
	}
	js, err := jetstream.New(nc)
	if err == nil {
		err = h.agreed(t.ctx)
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	return &brokers{all, nc, js}, nil
}

// serverProcesses returns the processes of the broker, and its URL. The ports are fixed, since a
// server that was killed comes back there.
func (h *harness) serverProcesses() (all []*mortal, url string, err error) {
	options, err := h.servers()
	if err != nil {
		return nil, "", err
	}
	ports, err := freePorts(len(options))
	if err != nil {
		return nil, "", err
	}
	var urls []string
	for i, o := range options {
		b := brokerSettings{Name: o.ServerName, Dir: o.StoreDir, Port: ports[i], Cluster: o.Cluster.Port}
		for _, r := range o.Routes {
			b.Routes = append(b.Routes, r.String())
		}
		text, err := json.Marshal(b)
		if err != nil {
			return nil, "", err
		}
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", b.Port))
		all = append(all, &mortal{process: &process{role: roleBroker, name: b.Name, env: []string{brokerEnv + "=" + string(text)}}})
	}
	return all, strings.Join(urls, ","), nil
}

// brokerSettings is how a process becomes a broker, in its environment.
type brokerSettings struct {
	Name, Dir     string
	Port, Cluster int
	Routes        []string
}

const brokerEnv = "SANFLOW_CLUSTER_BROKER"

// broker is a server of the broker until the parent ends it.
func broker(ctx context.Context, _ []string) error {
	ctx, stop := withParent(ctx)
	defer stop()
	var b brokerSettings
	if err := json.Unmarshal([]byte(os.Getenv(brokerEnv)), &b); err != nil {
		return fmt.Errorf("-role broker is for processes that this command starts: %w", err)
	}
	o := &server.Options{ServerName: b.Name, Host: "127.0.0.1", Port: b.Port, JetStream: true, StoreDir: b.Dir, NoSigs: true, NoLog: true}
	if b.Cluster > 0 {
		o.Cluster = server.ClusterOpts{Name: "cluster", Host: "127.0.0.1", Port: b.Cluster, NoAdvertise: true}
		o.Routes = server.RoutesFromStr(strings.Join(b.Routes, ","))
	}
	if err := b.await(ctx); err != nil {
		return err
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.Start()
	for begin := time.Now(); (s.Addr() == nil || b.Cluster > 0 && s.ClusterAddr() == nil) && ctx.Err() == nil; {
		if time.Since(begin) > time.Minute { // the server reports in no other way that it cannot listen
			s.Shutdown()
			return errPort
		}
		wait(ctx, 10*time.Millisecond)
	}
	<-ctx.Done()
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}

// errPort is the error of a server whose port is taken.
var errPort = errors.New("its port is taken")

// await waits until the ports of a restarted server are free: another connection may have
// taken one meanwhile. A server that starts first takes other ports.
func (b brokerSettings) await(ctx context.Context) error {
	patience := time.Duration(0)
	if _, err := os.Stat(filepath.Join(b.Dir, "jetstream")); err == nil { // the directory itself is there for the first, too
		patience = time.Minute
	}
	for begin := time.Now(); ; {
		err := errors.Join(listenable(b.Port), listenable(b.Cluster))
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if time.Since(begin) > patience {
			return fmt.Errorf("%w: %w", errPort, err)
		}
		wait(ctx, 50*time.Millisecond)
	}
}

// listenable listens at a port for a moment; 0 is none.
func listenable(port int) error {
	if port == 0 {
		return nil
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	return l.Close()
}
