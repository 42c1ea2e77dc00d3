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
	"slices"
	"strings"
	"time"

	"github.com/sanflow/sanflow/sources"
	_ "github.com/sanflow/sanflow/sources/tu" // Open reads the downloaded collection
)

func init() {
	sources.Register(sources.Format{
		Name: "collection",
		Find: func(ctx context.Context, name string, o sources.Options) (string, error) {
			return Find(ctx, name, o.Bar("downloading "+name))
		},
	})
}

// address is the base URL of the TU Dortmund collection.
const address = "https://www.chrsmrrs.com/graphkerneldatasets"

// Bounds of a download by Find: the size of the zip in bytes, and the time.
const (
	mostBytes = 1 << 30
	longest   = 30 * time.Minute
)

// finder holds the settings of Find, which tests replace.
type finder struct {
	cache    func() (string, error) // returns the user's cache directory
	url      string                 // base URL of NAME.zip
	client   *http.Client
	maxBytes int64
	timeout  time.Duration
	progress func(done, total int64)
}

// names excludes path separators, so that a name stays in the folder of the lookup.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$`)

// Find returns the path of a zip or directory for tu.Source: name itself if that path exists,
// else the collection of that name in the first place of the package comment that has it.
//
// A cached file that no longer has its stored checksum is downloaded again; a file without a
// stored checksum is used as it is. A download appears in one step, when it is complete and a
// readable zip, so an interrupted run leaves no partial file. If no place has the collection,
// the error is one line that names every place, and a collection of similar spelling, such as
// MUTAG for mutag. It wraps [fs.ErrNotExist], unless the reason may be temporary, such as a
// lost connection.
//
// Downloads are in the folder sanflow/tu of [os.UserCacheDir]. progress, if set, is called with the
// numbers of bytes received and expected, -1 if the server does not announce a size, from the
// goroutine of Find.
func Find(ctx context.Context, name string, progress func(done, total int64)) (string, error) {
	f := finder{os.UserCacheDir, address, http.DefaultClient, mostBytes, longest, progress}
	return f.find(ctx, name)
}

func (f *finder) find(ctx context.Context, name string) (string, error) {
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

	user, err := f.cache()
	if err != nil {
		return "", fmt.Errorf("download: no collection %s: %s; %w", name, strings.Join(looked, "; "), err)
	}
	dir := filepath.Join(user, "sanflow", "tu")
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

	url := f.url + "/" + name + ".zip"
	if err := f.get(ctx, url, path); err != nil {
		return "", fmt.Errorf("download: no collection %s: %s; %s: %w", asked, strings.Join(looked, "; "), url, err)
	}
	return path, nil
}

// common lists the collections that papers use most, for suggestions.
var common = strings.Fields("AIDS COLLAB DD ENZYMES IMDB-BINARY IMDB-MULTI MUTAG Mutagenicity NCI1 NCI109 PROTEINS PTC_MR " +
	"REDDIT-BINARY REDDIT-MULTI-5K REDDIT-MULTI-12K")

// alike returns a known collection whose name differs from name in case or punctuation only, or "". The
// known collections are those in the folders and in common.
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
		entries, _ := os.ReadDir(dir) // an absent folder has no entries
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
