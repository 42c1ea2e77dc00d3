package download

import (
	"archive/zip"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
)

// get downloads a zip to path through a temporary file in the same folder.
func (f *finder) get(ctx context.Context, from, path string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	resp, err := f.request(ctx, from)
	if err != nil {
		return err
	}
	defer resp.Body.Close()

	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tmp.Close()
			os.Remove(tmp.Name())
		}
	}()
	sum := sha256.New()
	in := &counted{r: resp.Body, total: resp.ContentLength, limit: f.maxBytes, report: f.progress}
	size, err := io.Copy(io.MultiWriter(tmp, sum), in)
	if err != nil {
		return fmt.Errorf("after %d bytes: %w", size, err)
	}
	// This rejects login pages, and bodies that were truncated without an error.
	if _, err := zip.NewReader(tmp, size); err != nil {
		return fmt.Errorf("the %d bytes that arrived: %w", size, err)
	}
	if err := cmp.Or(tmp.Chmod(0o644), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	// The checksum is written first. After a crash between the two writes the old file does not match, and
	// the next run replaces it.
	if err := writeSum(path, sum.Sum(nil)); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// request sends a GET and returns the response if its status is 200.
func (f *finder) request(ctx context.Context, from string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	client := *f.client
	client.CheckRedirect = secure(client.CheckRedirect)
	resp, err := client.Do(req)
	if u := new(url.Error); errors.As(err, &u) {
		return nil, u.Err // Find adds the URL to its error
	}
	if err != nil {
		return nil, err
	}
	switch {
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone:
		err = fmt.Errorf("answers %s: %w", resp.Status, fs.ErrNotExist)
	case resp.StatusCode != http.StatusOK:
		err = fmt.Errorf("answers %s", resp.Status)
	case resp.ContentLength > f.maxBytes:
		err = tooLarge(f.maxBytes)
	}
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// secure returns a redirect policy that refuses to leave https. Other redirects are decided by check, or
// limited to ten if check is nil.
func secure(check func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		switch last := via[len(via)-1].URL; {
		case last.Scheme == "https" && req.URL.Scheme != "https":
			return fmt.Errorf("is redirected to %s, which is not encrypted", req.URL.Redacted())
		case check != nil:
			return check(req, via)
		case len(via) >= 10:
			return errors.New("is redirected ten times")
		}
		return nil
	}
}

func tooLarge(limit int64) error {
	return fmt.Errorf("more than %d bytes: download it by hand to the folder tu of $SANFLOW_DATA", limit)
}

// counted reports the progress of a body and limits its size.
type counted struct {
	r                  io.Reader
	done, total, limit int64
	report             func(done, total int64)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.done += int64(n)
	if c.done > c.limit {
		return 0, tooLarge(c.limit)
	}
	if c.report != nil && n > 0 {
		c.report(c.done, c.total)
	}
	return n, err
}
