package flow

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

var sinks sync.Map // of func(context.Context, string) (Sink, error), by scheme

// RegisterSink makes the URLs of a scheme, such as "nats", known to [OpenSink]. It is for the init function of
// a package, and panics if the scheme is taken. Sources are registered by sources.Register, buckets by
// file.Register.
func RegisterSink(scheme string, open func(ctx context.Context, url string) (Sink, error)) {
	if _, taken := sinks.LoadOrStore(scheme, open); taken {
		panic("flow: the scheme " + scheme + " is registered twice")
	}
}

// OpenSink returns the sink of a URL; ok is false if no linked package registered the scheme.
func OpenSink(ctx context.Context, url string) (s Sink, ok bool, err error) {
	scheme, _, _ := strings.Cut(url, "://")
	open, ok := sinks.Load(scheme)
	if !ok {
		return nil, false, nil
	}
	if s, err = open.(func(context.Context, string) (Sink, error))(ctx, url); err != nil {
		err = fmt.Errorf("%s://: %w", scheme, err) // the URL may have a password
	}
	return s, true, err
}
