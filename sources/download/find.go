package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sanflow/sanflow/sources"
)

func init() {
	sources.Register(sources.Format{
		Name: "collection",
		Find: func(ctx context.Context, name string, o sources.Options) (string, error) {
			return Find(ctx, name, Options{Progress: o.Bar("downloading " + name)})
		},
	})
}

// Options are the places to search. The zero value is ready to use.
type Options struct {
	// Cache is the directory that downloads go to, into its folder tu. The
	// default is the folder sanflow in [os.UserCacheDir].
	Cache string
	// URL is where NAME.zip is downloaded from. The default is [TU].
	URL string
	// Offline leaves the net out.
	Offline bool
	// Client makes the request. The default is [http.DefaultClient].
	Client *http.Client
	// MaxBytes bounds the size of a download. The default is 1 GiB.
	MaxBytes int64
	// Timeout bounds the time of a download. The default is 30 minutes.
	Timeout time.Duration
	// Progress is called with the numbers of bytes received and expected; -1 if the server does not
	// announce a size. It is called from the goroutine of Find.
	Progress func(done, total int64)
}

// TU is the address of the collection of TU Dortmund.
const TU = "https://www.chrsmrrs.com/graphkerneldatasets"

// names keeps a name from leaving the folder that it is looked up in.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$`)

// Find returns the path of a zip or directory for sources.TU: name itself if that path exists,
// else the collection of that name in the first place of the package comment that has it.
//
// A cached file that no longer has its stored checksum is downloaded again; a file without a
// stored checksum is used as it is. A download appears in one step, when it is complete and a
// readable zip, so an interrupted run leaves no partial file. If no place has the collection,
// the error is one line that names every place, and a collection of similar spelling, such as
// MUTAG for mutag. It wraps [fs.ErrNotExist], unless the reason may be temporary, such as a
// lost connection.
func Find(ctx context.Context, name string, o Options) (string, error) {
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	if !names.MatchString(name) || strings.HasSuffix(name, ".zip") {
		return "", fmt.Errorf("download: %q is neither a file or directory nor the name of a collection: %w", name, fs.ErrNotExist)
	}
	looked := []string{"not a path"}

	data := os.Getenv("SANFLOW_DATA")
	if path := sources.Place(name, "tu"); path != name {
		return path, nil
	}
	if data != "" {
		looked = append(looked, "not in "+filepath.Join(data, "tu"))
	} else {
		looked = append(looked, "$SANFLOW_DATA is not set")
	}

	dir, err := o.cache()
	if err != nil {
		return "", fmt.Errorf("download: no collection %s: %s; %w: set Cache", name, strings.Join(looked, "; "), err)
	}
	asked := name
	if other := alike(name, filepath.Join(data, "tu"), dir); other != "" {
		asked += " (is " + other + " meant?)"
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
		return "", fmt.Errorf("download: no collection %s: %s; told to stay offline: %w", asked, strings.Join(looked, "; "), fs.ErrNotExist)
	}
	url := strings.TrimSuffix(cmp.Or(o.URL, TU), "/") + "/" + name + ".zip"
	if err := o.get(ctx, url, path); err != nil {
		return "", fmt.Errorf("download: no collection %s: %s; %s: %w", asked, strings.Join(looked, "; "), url, err)
	}
	return path, nil
}

// common are collections that papers use, for alike.
var common = strings.Fields("AIDS COLLAB DD ENZYMES IMDB-BINARY IMDB-MULTI MUTAG Mutagenicity NCI1 NCI109 PROTEINS PTC_MR " +
	"REDDIT-BINARY REDDIT-MULTI-5K REDDIT-MULTI-12K")

// alike returns a collection in one of some folders, or one that papers use, whose name
// differs by case alone, or by the characters between its words; "" if there is none.
func alike(name string, folders ...string) string {
	plain := func(s string) string {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune("-_.", r) {
				return -1
			}
			return r
		}, strings.ToLower(s))
	}
	known := slices.Clone(common)
	for _, dir := range folders {
		entries, _ := os.ReadDir(dir) // a folder that is not there has none
		for _, e := range entries {
			known = append(known, strings.TrimSuffix(e.Name(), ".zip"))
		}
	}
	for _, other := range known {
		if other != name && plain(other) == plain(name) {
			return other
		}
	}
	return ""
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
