package jet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// StreamError is an error of a stream, which it names.
type StreamError struct {
	Stream string
	Err    error
}

func (e *StreamError) Error() string { return "stream " + e.Stream + ": " + e.Err.Error() }

func (e *StreamError) Unwrap() error { return e.Err }

// Of names the stream of an error, unless the error names one, and says what to do where the
// broker is full. That a context has ended is of no stream.
func Of(stream string, err error) error {
	var named *StreamError
	if err == nil || errors.As(err, &named) || errors.Is(err, context.Canceled) {
		return err
	}
	if Full(err) {
		err = fmt.Errorf("%w: %w", ErrFull, err)
	}
	return &StreamError{stream, err}
}

// refused reports errors that waiting does not mend.
func refused(err error) bool {
	for _, final := range []error{
		nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired, nats.ErrPermissionViolation,
		nats.ErrSecureConnRequired, nats.ErrSecureConnWanted, nats.ErrBadHeaderMsg,
	} {
		if errors.Is(err, final) {
			return true
		}
	}
	var certificate *tls.CertificateVerificationError
	var socket *net.OpError
	return errors.As(err, &certificate) || errors.As(err, &socket) && socket.Op == "remote error" // what TLS calls that of the other side
}

// ErrOtherRun is the error of a stream with messages of a run with other data or settings.
var ErrOtherRun = errors.New("another run, with other data or settings, writes or wrote this stream: to start over, delete all streams of the run (Delete of sources/jetstream) and the checkpoint of its trainer, or use another name")

// ErrRemade is the error of a stream that was deleted, and made again, while it was read or written: what
// was in it is gone.
var ErrRemade = errors.New("it was deleted, and made again")

// Codes of the broker, which its client does not name.
const (
	codeStore    jetstream.ErrorCode = 10077 // the message exceeds a bound of the stream
	codeNoRoom   jetstream.ErrorCode = 10023 // the broker has no room
	codeAccount  jetstream.ErrorCode = 10002 // the account has no room
	codeMemory   jetstream.ErrorCode = 10028 // the broker has no memory for a stream of that size
	codeStorage  jetstream.ErrorCode = 10047 // the broker has no disk for a stream of that size
	codeReserved jetstream.ErrorCode = 10122 // the account has no room for a stream of that size

	codeInProcess jetstream.ErrorCode = 10158 // it was sent before, and its servers have not agreed on it yet
)

// ErrFull is the error of a broker or an account without room.
var ErrFull = errors.New("the broker has no room: give it more, delete streams, or bound a stream that its reader purges")

// RoomWait is how long a full broker is asked again where waiting makes no room.
const RoomWait = 4 * time.Second

// errUnderWay is the error of a message whose position is that of one that did not arrive.
var errUnderWay = errors.New("another one was on its way, and is not there")

// code returns the code of an error of the broker, or 0.
func code(err error) jetstream.ErrorCode {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.ErrorCode
	}
	return 0
}

// Bounded reports the error of a stream that holds as much as its own bounds allow.
func Bounded(err error) bool {
	return code(err) == codeStore && strings.Contains(err.Error(), "maximum")
}

// Full reports errors of a broker or an account without room.
func Full(err error) bool {
	switch code(err) {
	case codeNoRoom, codeAccount, codeMemory, codeStorage, codeReserved:
		return true
	}
	return false
}

// Taken reports the error of a message whose position another one has, or will have if it arrives.
func Taken(err error) bool {
	c := code(err)
	return c == jetstream.JSErrCodeStreamWrongLastSequence || c == jetstream.JSErrCodeStreamWrongLastSequenceConstant
}

// Passing reports errors of a broker that is away, starts, or looks for a leader, and of a
// message that was sent before and may arrive yet. A full broker is none of these.
func Passing(err error) bool {
	if c := code(err); c == codeStore || Full(err) {
		return false
	}
	for _, e := range []error{
		nats.ErrNoResponders, nats.ErrTimeout, nats.ErrDisconnected, nats.ErrConnectionReconnecting, nats.ErrReconnectBufExceeded, nats.ErrNoServers,
		nats.ErrStaleConnection, jetstream.ErrNoStreamResponse, jetstream.ErrAsyncPublishTimeout, jetstream.ErrTooManyStalledMsgs,
		jetstream.ErrNoHeartbeat, jetstream.ErrConsumerLeadershipChanged, jetstream.ErrServerShutdown, context.DeadlineExceeded,
		jetstream.ErrStreamNotFound, jetstream.ErrConsumerNotFound, jetstream.ErrJetStreamNotEnabled, jetstream.ErrConsumerDeleted,
		net.ErrClosed, errUnderWay,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	// A write at the moment in which a connection breaks returns the error of the socket.
	var socket *net.OpError
	var api *jetstream.APIError
	return errors.As(err, &socket) || errors.As(err, &api) && (api.Code == 503 || api.Code == 500 || api.ErrorCode == codeInProcess)
}
