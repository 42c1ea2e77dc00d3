package jet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Client is an open connection. It comes back by itself when it is lost.
type Client struct {
	Connection
	NC  *nats.Conn
	JS  jetstream.JetStream
	url string

	reconnects atomic.Int64
	mu         sync.Mutex
	warned     time.Time
	why        error // the first refusal since it was connected, which tells most
	fatal      error // why it will not come back
}

// apiWait is how long one question to the broker may take.
const apiWait = 3 * time.Second

// Dial connects, and tries again for as long as Patience lasts.
func (c Connection) Dial(ctx context.Context, name string) (*Client, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	url, options, err := c.options()
	if err != nil {
		return nil, err
	}
	cl := &Client{Connection: c, url: url}
	options = append([]nats.Option{
		nats.Name("sanflow " + name), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond), nats.ReconnectJitter(50*time.Millisecond, 50*time.Millisecond),
		nats.Timeout(2 * time.Second), nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			cl.reconnects.Add(1)
			cl.refusal(nil)
			cl.log(slog.LevelInfo, "reconnected", "server", nc.ConnectedUrlRedacted())
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { cl.log(slog.LevelInfo, "disconnected", "error", err) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			cl.log(slog.LevelWarn, "connection", "error", err)
			switch {
			case errors.Is(err, nats.ErrPermissionViolation):
				cl.fail(err)
			case refused(err): // the client tries again, and closes itself where that is refused too
				cl.refusal(err)
			}
		}),
		nats.ClosedHandler(func(nc *nats.Conn) {
			if err := nc.LastError(); err != nil {
				cl.fail(err)
			}
		}),
	}, options...)
	err = cl.retry(ctx, func() (err error) {
		cl.NC, err = nats.Connect(url, options...)
		return err
	}, refused)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", redacted(url), err)
	}
	cl.JS, err = jetstream.New(cl.NC, jetstream.WithPublishAsyncTimeout(5*time.Second), jetstream.WithPublishAsyncMaxPending(1<<16), jetstream.WithDefaultTimeout(apiWait))
	if err != nil {
		cl.NC.Close()
		return nil, err
	}
	return cl, nil
}

// redacted leaves passwords out of messages.
func redacted(url string) string {
	if at := strings.LastIndexByte(url, '@'); at >= 0 {
		return "nats://…" + url[at:]
	}
	return url
}

func (c *Client) log(level slog.Level, what string, args ...any) {
	if c.Logger != nil {
		c.Logger.Log(context.Background(), level, what, args...)
	}
}

// refusal keeps the first one; nil forgets it.
func (c *Client) refusal(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == nil || err == nil {
		c.why = err
	}
}

func (c *Client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err = cmp.Or(c.why, err, nats.ErrConnectionClosed)
	if c.fatal == nil {
		c.fatal = fmt.Errorf("%s: %w", redacted(c.url), err)
	}
}

// Err returns why the connection will not come back, or nil.
func (c *Client) Err() error {
	if c.NC.IsClosed() {
		c.fail(c.NC.LastError())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fatal
}

// Reconnects returns how often the connection came back.
func (c *Client) Reconnects() int64 { return c.reconnects.Load() }

// Close ends the connection, and with it what waits for acknowledgements: where
// CleanupPublisher comes before a goroutine of the client's has begun, that is left.
func (c *Client) Close() { c.NC.Close() }

// Ask asks the broker, again for as long as it is away or without a leader, and for RoomWait
// if it has no room.
func (c *Client) Ask(ctx context.Context, f func(context.Context) error) error {
	missing, full := 0, time.Time{}
	return c.retry(ctx, func() error {
		if err := c.Err(); err != nil {
			return err
		}
		ctx, stop := context.WithTimeout(ctx, apiWait)
		defer stop()
		err := f(ctx)
		if closed := c.Err(); err != nil && closed != nil {
			return closed
		}
		if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrConsumerNotFound) {
			// A server that has just started may not know yet.
			missing++
		} else {
			missing = 0
		}
		if !Full(err) {
			full = time.Time{}
		} else if full.IsZero() {
			full = time.Now()
		}
		return err
	}, func(err error) bool {
		wait := Passing(err) || Full(err) && time.Since(full) < min(RoomWait, c.Patience)
		return c.Err() != nil || missing >= 4 || missing == 0 && !wait
	})
}

// Warn logs, each half minute, that something has not been possible for 3 s.
func (c *Client) Warn(since time.Time, what string, err error) {
	c.mu.Lock()
	due := time.Since(since) > 3*time.Second && (c.warned.IsZero() || time.Since(c.warned) > 30*time.Second)
	if due {
		c.warned = time.Now()
	}
	c.mu.Unlock()
	if due {
		c.log(slog.LevelWarn, what, "server", redacted(c.url), "since", time.Since(since).Round(time.Second).String(), "error", err.Error())
	}
}

// retry calls f until it succeeds, its error is final, ctx ends or it has failed
// for as long as Patience lasts.
func (c *Client) retry(ctx context.Context, f func() error, final func(error) bool) error {
	begin, wait := time.Now(), 20*time.Millisecond
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		err := f()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case final(err):
			return err
		case time.Since(begin) > c.Patience:
			return fmt.Errorf("for %v: %w", c.Patience, err)
		}
		what := "the broker does not answer; trying on"
		if Full(err) {
			what = "the broker has no room; trying on"
		}
		c.Warn(begin, what, err)
		if !Sleep(ctx, wait) {
			return context.Cause(ctx)
		}
		wait = min(2*wait, 500*time.Millisecond)
	}
}

// Sleep reports whether ctx has not ended meanwhile.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
