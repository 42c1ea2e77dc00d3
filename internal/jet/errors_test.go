package jet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// What a socket says when the other side is killed is a broker that is away.
func TestBrokenSocketPasses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = far.(*net.TCPConn).SetLinger(0)
	far.Close()
	for err == nil {
		_, err = near.Write(make([]byte, 1<<10))
	}
	if !Passing(fmt.Errorf("published: %w", err)) {
		t.Errorf("%v is taken for the end", err)
	}
	near.Close()
	if _, err = near.Write([]byte("x")); !Passing(err) {
		t.Errorf("%v is taken for the end", err)
	}
}

// An error names its stream once, and the cause of a cancellation is no error of a stream.
func TestOf(t *testing.T) {
	bad := errors.New("bad")
	for want, err := range map[string]error{
		"stream a: bad":    Of("b", Of("a", bad)),
		"x: stream a: bad": Of("b", fmt.Errorf("x: %w", Of("a", bad))),
		"context canceled": Of("a", context.Canceled),
	} {
		if err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if Of("a", nil) != nil || !errors.Is(Of("a", bad), bad) {
		t.Error("an error is lost, or made")
	}
}

// A message that is sent again while the servers agree on it is neither refused nor there.
func TestInProcessPasses(t *testing.T) {
	err := fmt.Errorf("published: %w", &jetstream.APIError{Code: 409, ErrorCode: 10158, Description: "duplicate message id is in process"})
	if !Passing(err) || Taken(err) || Full(err) {
		t.Errorf("%v: passing %t, taken %t, full %t, want the first alone", err, Passing(err), Taken(err), Full(err))
	}
}

// A full broker, a stream at its bound, a message that is too long, and a broker that is away are
// told apart by the broker's codes.
func TestFull(t *testing.T) {
	for _, c := range []struct {
		status                 int
		code                   jetstream.ErrorCode
		text                   string
		full, bounded, passing bool
	}{
		{503, 10023, "insufficient resources", true, false, false},
		{500, 10047, "insufficient storage resources available", true, false, false},
		{500, 10028, "insufficient memory resources available", true, false, false},
		{400, 10002, "resource limits exceeded for account", true, false, false},
		{400, 10122, "stream max bytes exceeds account limit max stream bytes", true, false, false},
		{503, 10077, "maximum bytes exceeded", false, true, false},
		{503, 10077, "maximum messages exceeded", false, true, false},
		{503, 10077, "message too large", false, false, false},
		{400, 10054, "message size exceeds maximum allowed", false, false, false},
		{503, 10008, "JetStream system temporarily unavailable", false, false, true},
		{500, 10009, "JetStream cluster can not handle request", false, false, true},
	} {
		err := fmt.Errorf("published: %w", &jetstream.APIError{Code: c.status, ErrorCode: c.code, Description: c.text})
		if full, bounded, passing := Full(err), Bounded(err), Passing(err); full != c.full || bounded != c.bounded || passing != c.passing {
			t.Errorf("%v: full %t, bounded %t, passing %t", err, full, bounded, passing)
		}
		if named := Of("s", err); errors.Is(named, ErrFull) != c.full || code(named) != c.code {
			t.Errorf("%v does not say that the broker is full, or has another code", named)
		}
	}
}
