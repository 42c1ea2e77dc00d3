package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/sources"
)

// A page begins and ends with the command, and without an address there is none.
func TestLive(t *testing.T) {
	defer leak.VerifyNone(t)
	for _, address := range []string{"", "localhost:0"} {
		f := Flags("x", "")
		p := Live(f)
		if err := Parse(f, []string{"-live", address}); err != nil {
			t.Fatal(err)
		}
		below, end, err := p.Start(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if (below == context.Background()) != (address == "") {
			t.Errorf("-live %q: the run is shown: %v", address, below != context.Background())
		}
		end(flow.From(sources.Families{Graphs: 3}).Run(below))
	}
	var none *Page
	if _, _, err := none.Start(context.Background()); err != nil {
		t.Error("no page:", err)
	}
	var usage *usageError
	if _, _, err := (&Page{address: "localhost:99999"}).Start(context.Background()); !errors.As(err, &usage) {
		t.Errorf("a port of 99999: %v", err)
	}
}

// Clients without number, slow ones, and requests without measure neither stop the run nor its end.
func TestLiveUnderAttack(t *testing.T) {
	defer leak.VerifyNone(t)
	free, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	below, end, err := (&Page{name: "x", address: address}).Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var streams, full atomic.Int32
	var clients, opened sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	for range 100 {
		opened.Add(1)
		clients.Go(func() {
			request, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/events", nil)
			answer, err := http.DefaultTransport.RoundTrip(request)
			if err == nil {
				defer answer.Body.Close()
				if answer.StatusCode == http.StatusOK {
					streams.Add(1)
				} else if answer.StatusCode == http.StatusServiceUnavailable {
					full.Add(1)
				}
			}
			opened.Done()
			if err == nil {
				_, _ = io.Copy(io.Discard, answer.Body)
			}
		})
	}
	opened.Wait()
	if streams.Load() != 16 || full.Load() != 84 {
		t.Errorf("of 100 clients %d have a stream and %d are told that there are too many", streams.Load(), full.Load())
	}
	slow, err := net.Dial("tcp", address) // sends no whole request
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	fmt.Fprint(slow, "GET / HT")
	request, _ := http.NewRequest(http.MethodGet, "http://"+address+"/", nil)
	request.Header.Set("X-Long", strings.Repeat("a", 1<<16))
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of 64 KiB has the status %s", answer.Status)
	}
	if err := flow.From(sources.Families{Graphs: 300}).Run(below); err != nil {
		t.Error(err)
	}
	began := time.Now()
	end(nil)
	if took := time.Since(began); took > 10*time.Second { // it gives clients one
		t.Errorf("the end takes %v", took)
	}
	stop()
	clients.Wait()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}
