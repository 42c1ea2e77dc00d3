package cli

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/sanflow/sanflow/sinks/live"
)

// Page is what the flag -live asks for.
type Page struct{ name, address string }

// Live adds the flag -live.
func Live(f *flag.FlagSet) *Page {
	p := &Page{name: f.Name()}
	f.StringVar(&p.address, "live", "", "address of a page that shows the run, such as localhost:8090, and of its /metrics; empty = none")
	return p
}

// Wanted reports whether there is to be a page.
func (p *Page) Wanted() bool { return p != nil && p.address != "" }

// Start begins to serve the page, if one is wanted. The pipelines below the context that it
// returns are shown. end stops it, and tells open pages how the command has ended.
func (p *Page) Start(ctx context.Context) (below context.Context, end func(error), err error) {
	if !p.Wanted() {
		return ctx, func(error) {}, nil
	}
	l, err := net.Listen("tcp", p.address)
	if err != nil {
		return ctx, nil, Usage(fmt.Errorf("-live: %w", err))
	}
	fmt.Fprintf(os.Stderr, "%s: the run is shown at http://%s/\n", p.name, l.Addr())
	page := &live.Page{Name: p.name}
	s := &http.Server{Handler: page, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 14}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(l) // a page that is gone is no reason to stop
	}()
	return page.Watch(ctx), func(err error) {
		page.End(err)
		grace, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer stop()
		if s.Shutdown(grace) != nil { // a client does not take the end
			_ = s.Close()
		}
		<-served
	}, nil
}
