package file

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"strings"
	"sync"
)

var schemes sync.Map // of func(context.Context, string) (Bucket, error), by scheme

// Register makes the URLs of a scheme, such as "s3", known to [OpenBucket]. It is for the init function of a
// package, and panics if the scheme is taken. open gets the URL of a folder: s3://company/fields/?region=eu.
func Register(scheme string, open func(ctx context.Context, url string) (Bucket, error)) {
	if _, taken := schemes.LoadOrStore(scheme, open); taken {
		panic("file: the scheme " + scheme + " is registered twice")
	}
}

// IsURL reports whether a place is a URL of a scheme that [Register] knows.
func IsURL(place string) bool {
	scheme, _, ok := strings.Cut(place, "://")
	_, known := schemes.Load(scheme)
	return ok && known
}

// SplitURL returns the URL of the folder, for [OpenBucket], and the name of a file in a bucket. A URL of a folder,
// whose last part has no ending, has no name.
func SplitURL(place string) (folder, name string, err error) {
	u, err := url.Parse(place)
	if err != nil {
		return "", "", err
	}
	if name = path.Base(u.Path); path.Ext(name) == "" {
		return place, "", nil
	}
	u.Path = path.Dir(u.Path)
	return u.String(), name, nil
}

// OpenBucket returns the bucket of a URL, and of a path the directory.
func OpenBucket(ctx context.Context, place string) (Bucket, error) {
	scheme, _, ok := strings.Cut(place, "://")
	if !ok {
		return Dir{Path: place}, nil
	}
	open, known := schemes.Load(scheme)
	if !known {
		return nil, fmt.Errorf("%s: no linked package opens URLs %s://", place, scheme)
	}
	return open.(func(context.Context, string) (Bucket, error))(ctx, place)
}
