// Package bucket reads and writes parts, fields and graphs in object stores: it makes a [file.Bucket]
// of any bucket of [gocloud.dev/blob].
//
//	import _ "gocloud.dev/blob/s3blob" // or gcsblob, azureblob: the driver of a URL scheme
//
//	b, err := bucket.Open(ctx, "s3://fields?region=eu-central-1")
//	if err != nil {
//		return err
//	}
//	defer b.Close()
//	err = p.To(parquet.Sink{Bucket: b}).Run(ctx)
//
// The module requires the drivers of memory (mem://) and of directories (file:///path) alone. A
// program adds the driver of its store by an import, as above, and gives it credentials in the way
// of that store: s3blob reads the environment and the files of the AWS SDK (AWS_ACCESS_KEY_ID, or a
// role of the machine), gcsblob the Application Default Credentials (GOOGLE_APPLICATION_CREDENTIALS,
// or the service account of the machine), azureblob AZURE_STORAGE_ACCOUNT and a key, a token or a
// managed identity. This package reads no credentials.
//
// # What an object store promises
//
// An object appears as a whole when its upload ends, or not at all, also when the process is killed.
// Unlike a directory, a bucket excludes no second writer of a name: the last upload counts. Parts of
// a plan (package part) have the same bytes from every writer.
package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/fileblob" // file:///path
	_ "gocloud.dev/blob/memblob"  // mem://
	"gocloud.dev/gcerrors"

	"github.com/sanflow/sanflow/flow/file"
)

// Bucket is a [file.Bucket] in an object store.
type Bucket struct {
	blob *blob.Bucket
	name string
	own  bool
}

var _ file.Bucket = (*Bucket)(nil)

// Of returns b as a file.Bucket. name names the bucket in errors. The caller closes b.
func Of(b *blob.Bucket, name string) *Bucket { return &Bucket{blob: b, name: name} }

// Open opens a bucket by its URL. A prefix of all names is the parameter "prefix" of the URL:
// "s3://company?prefix=fields/". The caller closes the Bucket.
func Open(ctx context.Context, url string) (*Bucket, error) {
	name, _, _ := strings.Cut(url, "?") // parameters may have secrets
	b, err := blob.OpenBucket(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("bucket: %s: %w", name, err)
	}
	return &Bucket{b, name, true}, nil
}

// Close ends the use of a Bucket that Open opened.
func (b *Bucket) Close() error {
	if !b.own {
		return nil
	}
	return b.blob.Close()
}

// String returns the name, without the parameters of a URL.
func (b *Bucket) String() string { return b.name }

// err names the object in an error. The error of an absent object is fs.ErrNotExist.
func (b *Bucket) err(op, name string, err error) error {
	if err == nil {
		return nil
	}
	if gcerrors.Code(err) == gcerrors.NotFound {
		return &fs.PathError{Op: op, Path: file.NameIn(b, name), Err: fs.ErrNotExist}
	}
	return fmt.Errorf("bucket: %s %s: %w", op, file.NameIn(b, name), err)
}

// Create implements file.Bucket.
func (b *Bucket) Create(ctx context.Context, name string) (file.Upload, error) {
	ctx, cancel := context.WithCancel(ctx)
	w, err := b.blob.NewWriter(ctx, name, nil)
	if err != nil {
		cancel()
		return nil, b.err("write", name, err)
	}
	return &upload{Writer: w, of: b, name: name, cancel: cancel}, nil
}

// upload is an object that is being written.
type upload struct {
	*blob.Writer
	of     *Bucket
	name   string
	cancel context.CancelFunc
	ended  bool
}

// Write hides the method ReadFrom of a blob.Writer, which would not name the object in errors.
func (u *upload) Write(p []byte) (int, error) {
	n, err := u.Writer.Write(p)
	return n, u.of.err("write", u.name, err)
}

// Publish ends the upload.
func (u *upload) Publish() error {
	if u.ended {
		return u.of.err("write", u.name, fs.ErrClosed)
	}
	u.ended = true
	defer u.cancel()
	return u.of.err("write", u.name, u.Writer.Close())
}

// Discard cancels the upload, so that nothing gets the name.
func (u *upload) Discard() error {
	if u.ended {
		return nil
	}
	u.ended = true
	u.cancel()
	u.Writer.Close() // its error says that the upload was cancelled
	return nil
}

// Get implements file.Bucket. Each ReadAt is one request.
func (b *Bucket) Get(ctx context.Context, name string) (file.Object, error) {
	a, err := b.blob.Attributes(ctx, name)
	if err != nil {
		return nil, b.err("read", name, err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	return &object{b, name, a, ctx, cancel}, nil
}

type object struct {
	of     *Bucket
	name   string
	is     *blob.Attributes
	ctx    context.Context
	cancel context.CancelFunc
}

func (o *object) Size() int64 { return o.is.Size }

// ReadAt reads a range. An object that was replaced since it was opened is an error.
func (o *object) ReadAt(p []byte, at int64) (n int, err error) {
	if at < 0 {
		return 0, o.of.err("read", o.name, errors.New("the offset is negative"))
	}
	most := min(int64(len(p)), max(o.is.Size-at, 0))
	if most == 0 {
		if len(p) > 0 {
			err = io.EOF
		}
		return 0, err
	}
	r, err := o.of.blob.NewRangeReader(o.ctx, o.name, at, most, nil)
	if err != nil {
		return 0, o.of.err("read", o.name, err)
	}
	if r.Size() != o.is.Size || !r.ModTime().Equal(o.is.ModTime) {
		err = errors.New("it was replaced while it was read")
	} else {
		n, err = io.ReadFull(r, p[:most])
	}
	if err = cmp.Or(err, r.Close()); err != nil {
		return n, o.of.err("read", o.name, err)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (o *object) Close() error {
	o.cancel()
	return nil
}

// List implements file.Bucket.
func (b *Bucket) List(ctx context.Context, prefix string) (names []string, err error) {
	list := b.blob.List(&blob.ListOptions{Prefix: prefix, Delimiter: "/"})
	for {
		o, err := list.Next(ctx)
		if err == io.EOF {
			return names, nil // package blob lists names in the order of their bytes
		}
		if err != nil {
			return nil, b.err("list", prefix+"*", err)
		}
		if !o.IsDir && (o.Key[0] != '.' || strings.HasPrefix(prefix, ".")) {
			names = append(names, o.Key)
		}
	}
}

// Remove implements file.Bucket.
func (b *Bucket) Remove(ctx context.Context, name string) error {
	err := b.err("remove", name, b.blob.Delete(ctx, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
