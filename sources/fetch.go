package sources

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	neturl "net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/message"
)

// copies maps URLs of bucket files to local copies in a temporary directory.
type copies struct {
	mu  sync.Mutex
	dir string
	at  map[string]string
}

// ofProcess are the copies made by Open. The directory is private to the process.
var ofProcess copies

// RemoveCopies removes the copies of files in buckets that Open, OpenTable, ReadNodes and Locate have made in this
// process. They are in a directory sanflow-* of [os.TempDir], and stay until this call. It is for the end of a
// program: sources that read a copy fail afterwards. A later Open copies again.
func RemoveCopies() error { return ofProcess.remove() }

func (c *copies) remove() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	dir := c.dir
	c.dir, c.at = "", nil
	if dir == "" {
		return nil
	}
	return os.RemoveAll(dir)
}

// fetch copies the file or folder of a URL once and returns the local path. A name with an extension is a
// file first.
func (c *copies) fetch(ctx context.Context, place string) (_ string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.at[place]; at != "" {
		return at, nil
	}
	b, name, err := BucketOf(ctx, place)
	if err != nil {
		return "", err
	}
	if c.dir == "" {
		if c.dir, err = os.MkdirTemp("", "sanflow-"); err != nil {
			return "", err
		}
		c.at = map[string]string{}
	}
	dir := filepath.Join(c.dir, fmt.Sprintf("%x", sha256.Sum256([]byte(place)))[:16])
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	var absent error
	if name != "" {
		absent = fetchFile(ctx, b, name, filepath.Join(dir, name))
	}
	if name == "" || absent != nil { // a folder name may contain a dot
		if err := fetchFolder(ctx, place, dir, absent); err != nil {
			return "", err
		}
		name = ""
	}
	c.at[place] = filepath.Join(dir, name)
	return c.at[place], nil
}

// fetchFolder copies all files of a folder. An empty folder returns absent if that is set.
func fetchFolder(ctx context.Context, place, dir string, absent error) error {
	b, err := OpenBucket(ctx, place)
	if err != nil {
		return errors.Join(absent, err)
	}
	names, err := b.List(ctx, "")
	if absent != nil && (err != nil || len(names) == 0) {
		return absent
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := fetchFile(ctx, b, name, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func fetchFile(ctx context.Context, b file.Bucket, name, to string) error {
	o, err := b.Get(ctx, name)
	if err != nil {
		return err
	}
	defer o.Close()
	return file.Write(nil, to, func(w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(o, 0, o.Size()))
		return err
	})
}

// ofScheme returns the format that is registered for the scheme of a URL and has the wanted function.
func ofScheme(url string, can func(Format) bool) (Format, bool) {
	scheme, _, ok := strings.Cut(url, "://")
	all := Formats()
	i := slices.IndexFunc(all, func(f Format) bool { return ok && can(f) && slices.Contains(f.Schemes, scheme) })
	if i < 0 {
		return Format{}, false
	}
	return all[i], true
}

func hasBucket(f Format) bool { return f.Bucket != nil }

// InBucket reports whether a place is a URL in a bucket.
func InBucket(place string) bool {
	_, ok := ofScheme(place, hasBucket)
	return ok
}

// OpenBucket returns the bucket of the folder of a URL, and of a path the directory.
func OpenBucket(ctx context.Context, place string) (file.Bucket, error) {
	scheme, _, url := strings.Cut(place, "://")
	f, ok := ofScheme(place, hasBucket)
	switch {
	case ok:
		return f.Bucket(ctx, place)
	case url:
		return nil, fmt.Errorf("%s: no linked package opens URLs %s://", place, scheme)
	}
	return file.Dir{Path: place}, nil
}

// BucketOf returns the bucket of the folder of a file, and the name of the file. A URL that ends in a slash, and one whose
// last part has no ending, is of a folder, and has no name.
func BucketOf(ctx context.Context, place string) (b file.Bucket, name string, err error) {
	u, err := neturl.Parse(place)
	if err != nil {
		return nil, "", err
	}
	if name = path.Base(u.Path); strings.HasSuffix(u.Path, "/") || path.Ext(name) == "" {
		b, err = OpenBucket(ctx, place)
		return b, "", err
	}
	u.Path = path.Dir(u.Path)
	b, err = OpenBucket(ctx, u.String())
	return b, name, err
}

// OpenTopic returns the topic of a URL, whose messages a reader follows that keeps its positions; ok is false if no linked package has one for the scheme.
func OpenTopic(ctx context.Context, url string) (t message.Topic, ok bool, err error) {
	f, ok := ofScheme(url, func(f Format) bool { return f.Topic != nil })
	if ok {
		t, err = f.Topic(ctx, url)
	}
	return t, ok, named(url, err)
}

// named adds the scheme of a URL to an error. The rest of the URL may contain a password.
func named(url string, err error) error {
	if err == nil {
		return nil
	}
	scheme, _, _ := strings.Cut(url, "://")
	return fmt.Errorf("%s://: %w", scheme, err)
}

// OpenSink returns the sink of a URL; ok is false if no linked package has one for the scheme.
func OpenSink(ctx context.Context, url string) (s flow.Sink, ok bool, err error) {
	f, ok := ofScheme(url, func(f Format) bool { return f.Sink != nil })
	if ok {
		s, err = f.Sink(ctx, url)
	}
	return s, ok, named(url, err)
}
