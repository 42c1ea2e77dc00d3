// Package jettest starts brokers in the process of a test.
package jettest

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Options are those of a broker on loopback with JetStream in dir. Port 0 is any.
func Options(dir string, port int) *server.Options {
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return &server.Options{
		Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true, JetStreamMaxStore: 1 << 30, JetStreamMaxMemory: 1 << 28,
	}
}

// Start starts a broker, and stops it at the end of the test.
func Start(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
	if o == nil {
		o = Options(t.TempDir(), 0)
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the broker does not start")
	}
	t.Cleanup(func() { Stop(s) })
	return s
}

// Stop stops a broker, and waits for that.
func Stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}
