package sources

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/sanflow/sanflow/flow/file"
)

// copies are files of buckets in a directory of their own, by their URLs. The zero value has none.
type copies struct {
	mu  sync.Mutex
	dir string
	at  map[string]string
}

// ofProcess are the copies that Open makes. No other process uses their directory.
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

// fetch copies the file of a URL in a bucket, or all files of a folder, once, and returns the path. A name with an
// ending is that of a file.
func (c *copies) fetch(ctx context.Context, place string) (_ string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.at[place]; at != "" {
		return at, nil
	}
	folder, name, err := file.SplitURL(place)
	if err != nil {
		return "", err
	}
	b, err := file.OpenBucket(ctx, folder)
	if err != nil {
		return "", err
	}
	names := []string{name}
	if name == "" {
		if names, err = b.List(ctx, ""); err != nil {
			return "", err
		}
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
	for _, name := range names {
		if err := fetchFile(ctx, b, name, filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	c.at[place] = filepath.Join(dir, name)
	return c.at[place], nil
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
