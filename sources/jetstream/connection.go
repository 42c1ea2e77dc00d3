package jetstream

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sanflow/sanflow/internal/jet"
)

// Connection is the address of the broker and the credentials for it. It connects again when the
// connection is lost.
type Connection struct {
	// URL names the servers, separated by commas, each with an optional user and password, or a
	// token. The default is the URL of Context, or nats://127.0.0.1:4222. A server with tls://
	// must offer TLS; one that demands TLS gets it whatever the scheme.
	URL string
	// Context is the name of a context of the nats command, or the path of its file: servers,
	// credentials and certificates.
	Context string
	// Credentials is a file with a JWT and a seed (.creds).
	Credentials string
	// CA is a file of certificates to trust beside those of the system. Cert and Key are the
	// files of the client's own certificate and of its key.
	CA, Cert, Key string
	// Patience is how long the broker may be away, at the beginning and later, before that is an
	// error. The default is 2 minutes.
	Patience time.Duration
	// Replicas is how many servers of a cluster keep each new stream. The default is 1.
	Replicas int
	// Options are further options of the client, applied last.
	Options []nats.Option
	// Logger, if set, gets a line for each connection that is lost or comes back (Info), and, where
	// the broker does not answer or has no room for 3 s, a line each half minute (Warn).
	Logger *slog.Logger
}

// Dead is the destination of messages that cannot be processed.
type Dead struct {
	// Stream is the stream of dead letters, which is made if it is missing. The default is
	// none.
	Stream string
	// Holes is the stream that was to have the rows. It gets a mark for each position that will
	// not come, so that its reader does not wait for that.
	Holes string
	// After is how many deliveries a message has at most; then it is a dead letter without
	// being read. A delivery to a worker that is killed counts. The count begins again with a new
	// consumer, which is made if the broker has lost that of the queue. The default is 32.
	After int
}

// Info is the state of a stream.
type Info struct {
	Recipe         string // Recipe of the sink that made the stream
	Ended          bool   // the mark of the end is there
	Messages, Rows int64  // that the mark of the end counts
}

// Delete deletes streams to start over under the same names, and returns the names of what it
// deleted: each stream, its NAME-late and its object store NAME-objects, where these are there. The
// checkpoint of a trainer is a file, which the caller removes. A stream that this library did not make
// is an error. No run may use the streams meanwhile.
func Delete(ctx context.Context, c Connection, streams ...string) (deleted []string, err error) {
	client, err := jet.Connection(c).Dial(ctx, "delete")
	if err != nil {
		return nil, fmt.Errorf("jetstream: delete: %w", err)
	}
	defer client.Close()
	for _, stream := range streams {
		if err := jet.CheckName(stream); err != nil {
			return deleted, fmt.Errorf("jetstream: delete: %w", err)
		}
		names, err := client.Delete(ctx, stream)
		deleted = append(deleted, names...)
		if err != nil {
			return deleted, fmt.Errorf("jetstream: delete: %w", err)
		}
	}
	return deleted, nil
}

// Look returns the state of a stream. It waits for a stream that is not there for as long as wait;
// then the error is ErrStreamNotFound of nats.go.
func Look(ctx context.Context, c Connection, stream string, wait time.Duration) (Info, error) {
	client, err := jet.Connection(c).Dial(ctx, "look at "+stream)
	if err != nil {
		return Info{}, jet.Of(stream, err)
	}
	defer client.Close()
	s, err := client.Find(ctx, stream, wait)
	if err != nil {
		return Info{}, err
	}
	info := Info{Recipe: jet.Recipe(s.CachedInfo())}
	if s.CachedInfo().State.Msgs == 0 { // in a cluster no server may lead a stream that is new
		return info, nil
	}
	end, err := client.End(ctx, stream)
	if end != nil {
		info.Ended, info.Messages, info.Rows = true, end.Messages, end.Rows
	}
	return info, jet.Of(stream, err)
}
