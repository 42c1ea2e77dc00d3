package input

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m) }

// The generation of a large graph can be interrupted.
func TestGeneratedInterrupt(t *testing.T) {
	for _, family := range Families {
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, _, err := Generate(ctx, family, 1_000_000, 1)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", family, err)
		}
		stop()
	}
}

// Reading ends with the context while the inner reader waits, and gives all that came before; a reader that is not
// read opens nothing.
func TestReadingInterrupt(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	waits, _ := io.Pipe()
	opened := false
	r := interruptible(ctx, func() (io.ReadCloser, error) {
		opened = true
		return struct {
			io.Reader
			io.Closer
		}{io.MultiReader(strings.NewReader("came"), waits), waits}, nil
	})
	if opened {
		t.Error("it is open before the first Read")
	}
	got := make([]byte, 10)
	if n, err := io.ReadAtLeast(r, got, 4); err != nil || string(got[:n]) != "came" {
		t.Errorf("%q, %v", got, err)
	}
	ended := errors.New("ended")
	time.AfterFunc(20*time.Millisecond, func() { stop(ended) })
	if n, err := r.Read(got); n != 0 || !errors.Is(err, ended) {
		t.Errorf("%d bytes, %v", n, err)
	}
	waits.Close()
	wrong := errors.New("wrong")
	if _, err := io.ReadAll(interruptible(t.Context(), func() (io.ReadCloser, error) { return nil, wrong })); !errors.Is(err, wrong) {
		t.Error(err)
	}
	b, err := io.ReadAll(interruptible(t.Context(), func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("all")), nil }))
	if err != nil || string(b) != "all" {
		t.Errorf("%q, %v", b, err)
	}
}
