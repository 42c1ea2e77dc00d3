package sources

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"sync"

	"github.com/sanflow/sanflow/flow/file"
)

var (
	fetchMu sync.Mutex
	fetched = map[string]string{} // the copies that this process has made, by URL
)

// fetch copies the file of a URL in a bucket, or all files of a folder, to the cache directory of the user, once
// a process, and returns the path. A name with an ending is that of a file.
func fetch(ctx context.Context, place string) (string, error) {
	fetchMu.Lock()
	defer fetchMu.Unlock()
	if at := fetched[place]; at != "" {
		return at, nil
	}
	u, err := url.Parse(place)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "sanflow", "buckets", fmt.Sprintf("%x", sha256.Sum256([]byte(place)))[:16])
	at, name := dir, path.Base(u.Path)
	var names []string
	if path.Ext(name) != "" {
		u.Path = path.Dir(u.Path)
		at, names = filepath.Join(dir, name), []string{name}
	}
	b, err := file.OpenBucket(ctx, u.String())
	if err != nil {
		return "", err
	}
	if names == nil {
		if names, err = b.List(ctx, ""); err != nil {
			return "", err
		}
	}
	// Files of an earlier copy may have gone from the bucket.
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, name := range names {
		if err := fetchFile(ctx, b, name, filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	fetched[place] = at
	return at, nil
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
