package download

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/internal/leak"
)

// anyZip is a readable zip of about a kilobyte.
func anyZip(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateHeader(&zip.FileHeader{Name: "DS_A.txt", Method: zip.Store})
	if err == nil {
		_, err = io.WriteString(w, strings.Repeat(text, 1000/len(text)))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// serve answers every request with h, and counts them.
func serve(t testing.TB, h http.HandlerFunc) (url string, requests *int) {
	t.Helper()
	requests = new(int)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*requests++
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

// nowhere has no data sets and an empty cache, which it returns too.
func nowhere(t testing.TB, url string) (f finder, cache string) {
	t.Helper()
	t.Setenv("SANFLOW_DATA", "")
	user := t.TempDir()
	f = finder{cache: func() (string, error) { return user, nil }, url: url, client: http.DefaultClient, maxBytes: mostBytes, timeout: longest}
	return f, filepath.Join(user, "sanflow", "tu")
}

func TestFindDownloads(t *testing.T) {
	body := anyZip(t, "1, 2\n")
	url, requests := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/DS.zip" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.Write(body)
	})
	o, cache := nowhere(t, url)
	var last [2]int64
	o.progress = func(done, total int64) {
		if done <= last[0] {
			t.Errorf("progress from %d to %d", last[0], done)
		}
		last = [2]int64{done, total}
	}
	for range 2 { // the second time from the cache
		path, err := o.find(t.Context(), "DS")
		if err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(cache, "DS.zip"); path != want {
			t.Errorf("path %s, want %s", path, want)
		}
		if got, _ := os.ReadFile(path); !bytes.Equal(got, body) {
			t.Errorf("%d bytes, want %d", len(got), len(body))
		}
	}
	if size := int64(len(body)); last != [2]int64{size, size} {
		t.Errorf("progress ended at %v, want %d of %d", last, size, size)
	}
	if *requests != 1 {
		t.Errorf("%d requests, want 1", *requests)
	}
	sum, err := os.ReadFile(filepath.Join(cache, "DS.zip.sha256"))
	if err != nil || len(sum) != 64+len("  DS.zip\n") || !bytes.HasSuffix(sum, []byte("  DS.zip\n")) {
		t.Errorf("checksum %q, %v", sum, err)
	}
}

func TestFindChecksum(t *testing.T) {
	body := anyZip(t, "1, 2\n")
	url, requests := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write(body) })
	o, _ := nowhere(t, url)
	path, err := o.find(t.Context(), "DS")
	if err != nil {
		t.Fatal(err)
	}
	damage := func() {
		if err := os.WriteFile(path, body[:100], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	damage()
	off := o // with a server that has nothing
	off.url, _ = serve(t, http.NotFound)
	if _, err := off.find(t.Context(), "DS"); err == nil || !strings.Contains(err.Error(), path+" does not have the checksum it was stored with") {
		t.Error(err)
	}
	if _, err := o.find(t.Context(), "DS"); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(path); !bytes.Equal(got, body) || *requests != 2 {
		t.Errorf("%d bytes after %d requests, want %d after 2", len(got), *requests, len(body))
	}
	// Without a checksum it was put there by hand.
	damage()
	if err := os.Remove(path + ".sha256"); err != nil {
		t.Fatal(err)
	}
	if got, err := off.find(t.Context(), "DS"); got != path || err != nil {
		t.Error(got, err)
	}
}

// A failed download is told in one line, and leaves nothing behind.
func TestFindFailures(t *testing.T) {
	body := anyZip(t, "1, 2\n")
	for _, c := range []struct {
		name string
		h    http.HandlerFunc
		max  int64
		want string // end of the message
		gone bool   // for good
	}{
		{"404", http.NotFound, 0, "answers 404 Not Found: file does not exist", true},
		{"500", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) }, 0, "answers 500 Internal Server Error", false},
		{"403", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(403) }, 0, "answers 403 Forbidden", false},
		{"cut short", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			w.Write(body[:300])
		}, 0, "after 300 bytes: unexpected EOF", false},
		{"cut short in silence", func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush() // no Content-Length
			w.Write(body[:300])
		}, 0, "the 300 bytes that arrived: zip: not a valid zip file", false},
		{"a login page", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>") }, 0, "the 6 bytes that arrived: zip: not a valid zip file", false},
		{"nothing", func(w http.ResponseWriter, r *http.Request) {}, 0, "the 0 bytes that arrived: zip: not a valid zip file", false},
		{"announces too much", func(w http.ResponseWriter, r *http.Request) { w.Write(body) }, 500, "more than 500 bytes: download it by hand to the folder tu of $SANFLOW_DATA", false},
		{"sends too much", func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			w.Write(body)
		}, 500, "more than 500 bytes: download it by hand to the folder tu of $SANFLOW_DATA", false},
		{"hangs up", func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }, 0, "EOF", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			url, _ := serve(t, c.h)
			o, cache := nowhere(t, url)
			o.maxBytes = cmp.Or(c.max, mostBytes)
			_, err := o.find(t.Context(), "DS")
			if err == nil {
				t.Fatal("no error")
			}
			start := fmt.Sprintf("download: no collection DS: not a path; $SANFLOW_DATA is not set; not in %s; %s/DS.zip: ", cache, url)
			if m := err.Error(); !strings.HasPrefix(m, start) || !strings.HasSuffix(m, c.want) || strings.Contains(m, "\n") {
				t.Errorf("got  %s\nwant %s…%s", m, start, c.want)
			}
			if errors.Is(err, fs.ErrNotExist) != c.gone {
				t.Errorf("%v: for good is %t, want %t", err, !c.gone, c.gone)
			}
			checkEmpty(t, cache)
		})
	}
}

func checkEmpty(t *testing.T, cache string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestFindUnreachable(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close() // no server listens there now
	o, cache := nowhere(t, s.URL)
	_, err := o.find(t.Context(), "DS")
	if err == nil || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "\n") || strings.Count(err.Error(), s.URL) != 1 {
		t.Error(err)
	}
	checkEmpty(t, cache)
}

func TestFindCancel(t *testing.T) {
	half := make(chan struct{})
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		w.Write(make([]byte, 500))
		w.(http.Flusher).Flush()
		close(half)
		<-r.Context().Done()
	})
	o, cache := nowhere(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-half
		cancel()
	}()
	start := time.Now()
	if _, err := o.find(ctx, "DS"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want canceled", err)
	}
	if d := time.Since(start); d > leak.Patience {
		t.Errorf("took %v", d)
	}
	checkEmpty(t, cache)
}

func TestFindTimeout(t *testing.T) {
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	o, _ := nowhere(t, url)
	o.timeout = 50 * time.Millisecond
	if _, err := o.find(t.Context(), "DS"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want deadline exceeded", err)
	}
}

func TestFindLocal(t *testing.T) {
	url, requests := serve(t, http.NotFound)
	o, _ := nowhere(t, url)
	data := t.TempDir()
	tu := filepath.Join(data, "tu")
	if err := os.MkdirAll(filepath.Join(tu, "DIR"), 0o755); err != nil {
		t.Fatal(err)
	}
	zipped := filepath.Join(tu, "ZIP.zip")
	if err := os.WriteFile(zipped, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	check := func(name, want string) {
		t.Helper()
		if got, err := o.find(t.Context(), name); got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", name, got, err, want)
		}
	}
	check(zipped, zipped) // a path
	check(tu, tu)
	t.Setenv("SANFLOW_DATA", data)
	check("ZIP", zipped)
	check("DIR", filepath.Join(tu, "DIR"))
	if *requests != 0 {
		t.Errorf("%d requests for what is here", *requests)
	}
}

func TestFindNames(t *testing.T) {
	url, requests := serve(t, http.NotFound)
	o, _ := nowhere(t, url)
	for _, name := range []string{"", "../DS", "a/b", `a\b`, ".hidden", "-flag", "DS.zip", "no/such.zip", "DS\n", "DS?x", "DS%2f", "é", strings.Repeat("x", 101)} {
		if _, err := o.find(t.Context(), name); err == nil || !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if *requests != 0 {
		t.Errorf("%d requests for names that are none", *requests)
	}
	for _, name := range []string{"IMDB-BINARY", "COLORS-3", "PTC_MR", "Tox21_AhR_training", "PC-3H", "p53.v2"} {
		if !names.MatchString(name) {
			t.Errorf("%s is a name", name)
		}
	}
}

// A name that is written otherwise is suggested: one that papers use, or one that is there.
func TestFindSuggests(t *testing.T) {
	url, _ := serve(t, http.NotFound)
	o, cache := nowhere(t, url)
	data := t.TempDir()
	t.Setenv("SANFLOW_DATA", data)
	for _, path := range []string{filepath.Join(data, "tu", "My-Own.zip"), filepath.Join(cache, "KEPT", "a")} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"mutag": "no collection mutag (is MUTAG meant?): not a path", "imdb_binary": "(is IMDB-BINARY meant?)",
		"myown": "(is My-Own meant?)", "kept": "(is KEPT meant?)", "other": "no collection other: not a path",
	} {
		_, err := o.find(context.Background(), name)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A server that was asked by https does not get away with http.
func TestFindRefusesPlainRedirects(t *testing.T) {
	body := anyZip(t, "1, 2\n")
	plain, requests := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write(body) })
	for _, c := range []struct {
		to   func(secure string) string
		want string // of the error
	}{
		{func(string) string { return plain + "/DS.zip" }, "is redirected to " + plain + "/DS.zip, which is not encrypted"},
		{func(secure string) string { return secure + "/there.zip" }, ""},
	} {
		var s *httptest.Server
		s = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/there.zip" {
				w.Write(body)
				return
			}
			http.Redirect(w, r, c.to(s.URL), http.StatusFound)
		}))
		o, _ := nowhere(t, s.URL)
		o.client = s.Client()
		_, err := o.find(t.Context(), "DS")
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("the error is %v, want %s", err, c.want)
		}
		s.Close()
	}
	if *requests != 0 {
		t.Errorf("%d requests without encryption", *requests)
	}
}
