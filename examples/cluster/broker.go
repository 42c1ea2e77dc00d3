package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// checkURL refuses what is no address of a broker, before anybody waits for one there.
func checkURL(urls string) error {
	if urls == "" {
		return nil
	}
	for _, s := range strings.Split(urls, ",") {
		u, err := address(s)
		if err != nil || u.Hostname() == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) {
			return fmt.Errorf("-url is not that of a broker, want nats://host:port, or several with commas between them")
		}
	}
	return nil
}

// address reads one URL; as for the client, host:port is one too.
func address(s string) (*url.URL, error) {
	s = strings.TrimSpace(s)
	if !strings.Contains(s, "://") && strings.Contains(s, ":") {
		s = "nats://" + s
	}
	return url.Parse(s)
}

// await says now and then that there is no broker yet, until one of the servers can be
// reached.
func (c *config) await(ctx context.Context) error {
	var told time.Time
	for {
		var where []string
		for _, s := range strings.Split(c.url, ",") {
			u, err := address(s)
			if err != nil {
				return err
			}
			at := u.Host
			if u.Port() == "" {
				at = net.JoinHostPort(u.Hostname(), map[string]string{"nats": "4222", "tls": "4222", "ws": "80", "wss": "443"}[u.Scheme])
			}
			try := net.Dialer{Timeout: 2 * time.Second}
			if conn, err := try.DialContext(ctx, "tcp", at); err == nil {
				return conn.Close()
			}
			where = append(where, at)
		}
		if ctx.Err() == nil && time.Since(told) > 3*time.Second {
			fmt.Fprintf(os.Stderr, "no broker at %s yet, trying\n", strings.Join(where, ", "))
			told = time.Now()
		}
		if !wait(ctx, 200*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}
