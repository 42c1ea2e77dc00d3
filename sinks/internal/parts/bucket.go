package parts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/manifest"
)

// bucket is numbered parts and a manifest in a file.Bucket. A part has its name when it is complete.
// The manifest alone says which parts belong to the output: publish replaces the manifest, and then
// the parts go that it does not name. Parts of a run that failed are overwritten or removed by the
// next run. Nothing excludes a second run: the last manifest counts.
type bucket struct {
	to       file.Bucket
	ext      string
	adding   bool
	ctx      context.Context
	cancel   context.CancelFunc
	old, now *manifest.Manifest
	next     int
	upload   file.Upload
}

func newBucket(t Target, ext string, s *arrow.Schema) (*bucket, error) {
	b := &bucket{to: t.Bucket, ext: ext, adding: t.Append, now: manifest.New(s)}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	old, err := manifest.ReadBucket(b.ctx, b.to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err != nil:
		err = fmt.Errorf("the old output cannot be replaced: %w", err)
	case b.adding:
		err = extend(b.now, old, ext)
	}
	b.old = old
	if err == nil {
		var plan []string
		if plan, err = b.to.List(b.ctx, manifest.Plan); len(plan) > 0 {
			err = errors.New("it holds the parts of a plan")
		}
	}
	if errors.Is(err, fs.ErrNotExist) { // a directory that does not exist yet
		err = nil
	}
	if err != nil {
		return nil, file.CannotWrite(b.to.String(), err)
	}
	return b, nil
}

// name is that of the part in hand.
func (b *bucket) name() string { return freeName(b.old, &b.next, b.ext) }

func (b *bucket) create() (w io.Writer, err error) {
	b.upload, err = b.to.Create(b.ctx, b.name())
	return b.upload, err
}

func (b *bucket) end(rows, bytes int64, sum string) error {
	if err := b.upload.Publish(); err != nil {
		return err
	}
	b.upload = nil
	b.now.Add(manifest.File{Name: b.name(), Rows: rows, Bytes: bytes, SHA256: sum})
	b.next++
	return nil
}

func (b *bucket) publish() error {
	text, err := json.MarshalIndent(b.now, "", "  ")
	if err != nil {
		return err
	}
	err = file.Put(b.ctx, b.to, manifest.Name, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return err
	}
	if b.adding {
		old := *b.now
		b.old = &old
		return nil
	}
	names, err := b.to.List(b.ctx, "part-")
	for _, name := range names {
		if _, ok := b.now.Has(name); !ok && strings.HasSuffix(name, b.ext) {
			err = errors.Join(err, b.to.Remove(b.ctx, name))
		}
	}
	return err
}

func (b *bucket) discard() error {
	defer b.cancel()
	if b.upload == nil {
		return nil
	}
	u := b.upload
	b.upload = nil
	return u.Discard()
}
