// Package jettest starts brokers in the process of a test.
package jettest

import (
	"fmt"
	"net"
	"strings"
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

// Cluster starts so many brokers that keep streams together, and returns their URLs.
func Cluster(t testing.TB, servers int) (urls string) {
	t.Helper()
	if servers == 1 {
		return Start(t, nil).ClientURL()
	}
	all, _ := Servers(t, servers)
	for i, s := range all {
		if i > 0 {
			urls += ","
		}
		urls += s.ClientURL()
	}
	return urls
}

// Servers starts brokers that keep streams together, and returns them and their options, by which
// one that was stopped can be started again.
func Servers(t testing.TB, servers int) (all []*server.Server, options []*server.Options) {
	t.Helper()
	var ports []int
	var routes []string
	for range servers {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
		routes = append(routes, "nats://"+l.Addr().String())
		l.Close()
	}
	for i, port := range ports {
		o := Options(t.TempDir(), 0)
		o.ServerName = fmt.Sprintf("broker-%d", i)
		o.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: port, NoAdvertise: true}
		o.Routes = server.RoutesFromStr(strings.Join(routes, ","))
		s, err := server.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() { Stop(s) })
		all, options = append(all, s), append(options, o)
	}
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		leads := 0
		for _, s := range all {
			if s.ReadyForConnections(time.Second) && s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == servers {
				leads++
			}
		}
		if leads == 1 {
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatal("the brokers do not find each other")
		}
	}
	return all, options
}
