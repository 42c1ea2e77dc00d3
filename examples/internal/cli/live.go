package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/sanflow/sanflow/sinks/live"
)

// Page is the page of -live.
type Page struct{ name, address string }

// Live adds the flag -live.
func Live(f *flag.FlagSet) *Page {
	p := &Page{name: f.Name()}
	f.StringVar(&p.address, "live", "", "address of a page that shows the run, such as localhost:8090, and of its /metrics; empty = none")
	return p
}

// Start serves the page, if there is an address. The page shows the pipelines of the context below. end
// stops the server and sends open pages the end of the command.
func (p *Page) Start(ctx context.Context) (below context.Context, end func(error), err error) {
	if p == nil || p.address == "" {
		return ctx, func(error) {}, nil
	}
	l, err := net.Listen("tcp", p.address)
	if err != nil {
		return ctx, nil, Usage(fmt.Errorf("-live: %w", err))
	}
	fmt.Fprintf(os.Stderr, "%s: the run is shown at http://%s/\n", p.name, l.Addr())
	page := &live.Page{Name: p.name}
	known := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !KnownHost(r.Host, p.address) {
			http.Error(w, ErrHost.Error(), http.StatusForbidden)
			return
		}
		page.ServeHTTP(w, r)
	})
	s := &http.Server{Handler: known, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 14}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(l) // an error of the page does not end the command
	}()
	return page.Watch(ctx), func(err error) {
		page.End(err)
		grace, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer stop()
		if s.Shutdown(grace) != nil { // a client still reads
			_ = s.Close()
		}
		<-served
	}, nil
}

// ErrHost is the error of a request with another Host.
var ErrHost = errors.New("the header Host names another server, want an IP address, localhost, the name of this machine or the host that is listened at")

// KnownHost reports whether the header Host of a request is that of a server at an address: an IP address,
// localhost, the host of the address, or the name of the machine. A page of another site that reaches this
// machine by DNS rebinding has another Host. A request without Host is one of HTTP/1.0, which no browser
// sends.
func KnownHost(host, address string) bool {
	if host == "" {
		return true
	}
	name := hostOf(host)
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	machine, _ := os.Hostname()
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || name != "" && (name == hostOf(address) || name == strings.ToLower(machine))
}

// hostOf returns the host of an address with or without a port.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	} else if strings.HasPrefix(address, "[") && strings.HasSuffix(address, "]") {
		address = address[1 : len(address)-1]
	}
	return strings.ToLower(strings.TrimSuffix(address, "."))
}
