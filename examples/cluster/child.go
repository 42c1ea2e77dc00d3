package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
)

// childEnv is set for processes that this command starts.
const childEnv = "SANFLOW_CLUSTER_CHILD"

// Roles that only this command gives.
const (
	roleBroker = "broker"
	roleFields = "fields" // make them and drop them
	roleAlone  = "alone"  // do everything
)

func isChild() bool { return os.Getenv(childEnv) != "" }

// withParent returns a context that ends with the parent, whose end closes the
// standard input.
func withParent(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	return ctx, stop
}

// status is what a child says of itself, a line at a time.
type status struct {
	Rows int64 `json:"rows"`
	Lag  int64 `json:"lag"`

	Learned int64    `json:"learned,omitempty"` // of a trainer: rows that the model has learned from, in this run and before
	Earlier *earlier `json:"earlier,omitempty"` // of one that goes on, once
	Msg     string   `json:"msg,omitempty"`     // of a line of its log
	Error   string   `json:"error,omitempty"`
}

// logger logs what the broker does not do: a child to its parent, a line of JSON each.
func logger() *slog.Logger {
	warnings := &slog.HandlerOptions{Level: slog.LevelWarn}
	if isChild() {
		return slog.New(slog.NewJSONHandler(os.Stdout, warnings))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, warnings))
}

// watch runs a pipeline, and shows how it goes on, or tells the parent. tally is that of a
// trainer, or nil.
func watch(ctx context.Context, p flow.Pipeline, role string, tally *audit) (flow.Stats, error) {
	running := p.Start(ctx)
	tell := func(s flow.Stats) {
		if isChild() && len(s.Stages) > 0 {
			b, _ := json.Marshal(status{Rows: s.Stages[len(s.Stages)-1].RowsIn, Lag: s.Stages[0].Lag, Learned: tally.rows()}) // plain numbers
			fmt.Println(string(b))
		}
	}
	bar := cli.NewProgress(role+": rows", -1)
	cli.Watch(running, func(s flow.Stats) {
		bar.Set(s.Stages[len(s.Stages)-1].RowsIn)
		tell(s)
	})
	bar.Done()
	err := running.Wait()
	s := running.Stats()
	tell(s)
	return s, err
}

// brokerSettings is how a child becomes a broker, in its environment.
type brokerSettings struct {
	Name, Dir     string
	Port, Cluster int
	Routes        []string
}

const brokerEnv = "SANFLOW_CLUSTER_BROKER"

// broker is a server of the broker until the parent ends it.
func (c *config) broker(ctx context.Context) error {
	var b brokerSettings
	if err := json.Unmarshal([]byte(os.Getenv(brokerEnv)), &b); err != nil {
		return fmt.Errorf("-role broker is for processes that this command starts: %w", err)
	}
	o := &server.Options{ServerName: b.Name, Host: "127.0.0.1", Port: b.Port, JetStream: true, StoreDir: b.Dir, NoSigs: true, NoLog: true}
	if b.Cluster > 0 {
		o.Cluster = server.ClusterOpts{Name: "cluster", Host: "127.0.0.1", Port: b.Cluster, NoAdvertise: true}
		o.Routes = server.RoutesFromStr(strings.Join(b.Routes, ","))
	}
	lock, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := b.await(ctx); err != nil {
		return err
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.Start()
	for begin := time.Now(); (s.Addr() == nil || b.Cluster > 0 && s.ClusterAddr() == nil) && ctx.Err() == nil; {
		if time.Since(begin) > time.Minute { // it tells nobody else that it cannot listen
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

// lock keeps other servers off the directory. The server of a run that was killed may still
// write there for a moment.
func (b brokerSettings) lock(ctx context.Context) (io.Closer, error) {
	if err := os.MkdirAll(b.Dir, 0o777); err != nil {
		return nil, err
	}
	for begin := time.Now(); ; {
		lock, err := file.Lock(nil, b.Dir)
		if !errors.Is(err, file.ErrHeld) || time.Since(begin) > time.Minute || !wait(ctx, 50*time.Millisecond) {
			return lock, err
		}
	}
}

// errPort is the error of a server whose port somebody else has.
var errPort = errors.New("its port is taken")

// await waits until nobody has the ports of a server that comes back: a connection of
// somebody's may have got one meanwhile. One that comes first takes others.
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
