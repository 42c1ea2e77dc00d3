package input

import (
	"context"
	"io"
	"os"
)

// interruptible is a reader whose Read returns when its context ends, also while the inner reader waits.
type interruptible struct {
	ctx  context.Context
	r    io.Reader
	data chan []byte // from the goroutine that reads; closed at the end
	left []byte
	err  error
}

// Stdin returns standard input. Reading ends with ctx.
func Stdin(ctx context.Context) io.Reader { return &interruptible{ctx: ctx, r: os.Stdin} }

// Pipe returns a reader of standard input for -, or of a pipe or a device; nil for a file, a folder and a
// missing file. Reading ends with ctx.
func Pipe(ctx context.Context, path string) io.Reader {
	if path == "-" {
		return Stdin(ctx)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return &interruptible{ctx: ctx, r: &opened{path: path}} // to open a pipe may block
	}
	return nil
}

func (i *interruptible) Read(p []byte) (int, error) {
	if i.data == nil {
		i.data = make(chan []byte)
		go i.pump()
	}
	if len(i.left) == 0 {
		select {
		case b, ok := <-i.data:
			if !ok {
				return 0, i.err
			}
			i.left = b
		case <-i.ctx.Done():
			return 0, context.Cause(i.ctx)
		}
	}
	n := copy(p, i.left)
	i.left = i.left[n:]
	return n, nil
}

// pump reads until the end of the input or of the context.
func (i *interruptible) pump() {
	defer close(i.data)
	for {
		b := make([]byte, 1<<16)
		n, err := i.r.Read(b)
		if n > 0 {
			select {
			case i.data <- b[:n]:
			case <-i.ctx.Done():
				i.err = context.Cause(i.ctx)
				return
			}
		}
		if err != nil {
			i.err = err
			return
		}
	}
}

// opened is a file that the first Read opens. Opening a pipe blocks until a process writes to it.
type opened struct {
	path string
	f    *os.File
}

func (o *opened) Read(p []byte) (n int, err error) {
	if o.f == nil {
		if o.f, err = os.Open(o.path); err != nil {
			return 0, err
		}
	}
	if n, err = o.f.Read(p); err != nil {
		o.f.Close()
	}
	return n, err
}
