package input

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
)

// Stdin returns standard input. Reading ends with ctx.
func Stdin(ctx context.Context) io.Reader {
	return interruptible(ctx, func() (io.ReadCloser, error) { return io.NopCloser(os.Stdin), nil })
}

// Pipe returns a reader of standard input for -, or of a pipe or a device; nil for a file, a folder and a
// missing file. Reading ends with ctx.
func Pipe(ctx context.Context, path string) io.Reader {
	if path == "-" {
		return Stdin(ctx)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return interruptible(ctx, func() (io.ReadCloser, error) { return os.Open(path) })
	}
	return nil
}

// lazy is a reader that the first Read makes.
type lazy func() io.Reader

func (l lazy) Read(p []byte) (int, error) { return l().Read(p) }

// interruptible returns a reader whose Read returns the cause of ctx when that ends, also while open or the opened
// reader waits. The first Read starts a goroutine that opens and copies: to open a pipe blocks until a process writes to it.
func interruptible(ctx context.Context, open func() (io.ReadCloser, error)) io.Reader {
	return lazy(sync.OnceValue(func() io.Reader {
		out, in := io.Pipe()
		context.AfterFunc(ctx, func() { in.CloseWithError(context.Cause(ctx)) })
		go func() {
			from, err := open()
			if err == nil {
				_, err = io.Copy(in, from)
				err = errors.Join(err, from.Close())
			}
			in.CloseWithError(err)
		}()
		return out
	}))
}
