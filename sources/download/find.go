package download

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Options says where to look. The zero value is ready to use.
type Options struct {
	// Data is a directory whose folder tu holds NAME.zip or NAME. The default
	// is $SANFLOW_DATA; without that, the place is left out.
	Data string
	// Cache is the directory that downloads go to, into its folder tu. The
	// default is the folder sanflow in [os.UserCacheDir].
	Cache string
	// URL is where NAME.zip is downloaded from. The default is [TU].
	URL string
	// Offline leaves the net out.
	Offline bool
	// Client makes the request. The default is [http.DefaultClient].
	Client *http.Client
	// SHA256, if set, is the checksum that a download must have, in hexadecimal
	// digits: TU Dortmund publishes none. What is there already is not compared.
	SHA256 string
	// MaxBytes bounds the size of a download. The default is 1 GiB.
	MaxBytes int64
	// Timeout bounds the time of a download. The default is 30 minutes.
	Timeout time.Duration
	// Progress is told the bytes that have arrived and those that are expected,
	// -1 if the server does not say. It is called from the goroutine of Find.
	Progress func(done, total int64)
}

// TU is the address of the collection of TU Dortmund.
const TU = "https://www.chrsmrrs.com/graphkerneldatasets"

// names keeps a name from leaving the folder that it is looked up in.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$`)

// Find returns the path of a zip or directory for sources.TU: name itself if
// it is a path that exists, else the collection of that name in the first place
// of the package comment that has it.
//
// A file in the cache that no longer has the checksum it was stored with is
// downloaded anew; one without a checksum was put there by hand, and is taken
// as it is. A download takes its place in one step, when it is complete and a
// readable zip: a run that is cut short leaves no half of a file. When nothing
// is found the error is one line that names every place. It wraps
// [fs.ErrNotExist] unless the reason may pass, as a lost connection does.
func Find(ctx context.Context, name string, o Options) (string, error) {
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	if !names.MatchString(name) || strings.HasSuffix(name, ".zip") {
		return "", fmt.Errorf("download: %q is neither a file or directory nor the name of a collection: %w", name, fs.ErrNotExist)
	}
	looked := []string{"not a path"}

	if data := first(o.Data, os.Getenv("SANFLOW_DATA")); data != "" {
		dir := filepath.Join(data, "tu")
		for _, path := range []string{filepath.Join(dir, name+".zip"), filepath.Join(dir, name)} {
			if _, err := os.Stat(path); err == nil {
				return path, nil
			}
		}
		looked = append(looked, "not in "+dir)
	} else {
		looked = append(looked, "$SANFLOW_DATA is not set")
	}

	dir, err := o.cache()
	if err != nil {
		return "", fmt.Errorf("download: no collection %s: %s; %w: set Cache", name, strings.Join(looked, "; "), err)
	}
	path := filepath.Join(dir, name+".zip")
	switch err := verify(path); {
	case err == nil:
		return path, nil
	case errors.Is(err, fs.ErrNotExist):
		looked = append(looked, "not in "+dir)
	default:
		looked = append(looked, err.Error())
	}

	if o.Offline {
		return "", fmt.Errorf("download: no collection %s: %s; told to stay offline: %w", name, strings.Join(looked, "; "), fs.ErrNotExist)
	}
	url := strings.TrimSuffix(first(o.URL, TU), "/") + "/" + name + ".zip"
	if err := o.get(ctx, url, path); err != nil {
		return "", fmt.Errorf("download: no collection %s: %s; %s: %w", name, strings.Join(looked, "; "), url, err)
	}
	return path, nil
}

func (o *Options) cache() (string, error) {
	dir := o.Cache
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(user, "sanflow")
	}
	return filepath.Join(dir, "tu"), nil
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
