package sinks_test

import (
	"context"
	"io"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// A stream can be read while it is written: a record is there when Write has
// returned.
func TestIPCLive(t *testing.T) {
	ctx := context.Background()
	recs := flowtest.Sample(memory.DefaultAllocator)
	pr, pw := io.Pipe()
	w, err := sinks.IPC{W: pw, Stream: true}.Open(recs[0].Schema())
	if err != nil {
		t.Fatal(err)
	}
	written, read := make(chan error), make(chan error)
	go func() {
		for _, rec := range recs {
			written <- w.Write(ctx, rec)
			<-read // and not before
		}
		written <- w.Close(nil)
		pw.Close()
	}()
	go func() {
		r, err := sources.IPC{Reader: pr}.Open(ctx, memory.DefaultAllocator)
		if err != nil {
			pr.CloseWithError(err)
			return
		}
		defer r.Close()
		for range recs {
			rec, err := r.Next(ctx)
			if err == nil {
				rec.Release()
			}
			read <- err
		}
		_, _ = io.Copy(io.Discard, pr)
	}()
	for range len(recs) + 1 {
		if err := <-written; err != nil {
			t.Fatal(err)
		}
	}
}
