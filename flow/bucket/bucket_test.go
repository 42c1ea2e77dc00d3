package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/bucket"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/part"
	"github.com/sanflow/sanflow/internal/filetest"
	"github.com/sanflow/sanflow/operators"
	out "github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
	in "github.com/sanflow/sanflow/sources/parquet"
)

var recipe = operators.Recipe{operators.Select{W: 5}, operators.Assemble{K: 4}, operators.Normalize{}}

// Fields go to a bucket, and come back from it. In place of mem:// stands the URL of a store whose
// driver the program imports:
//
//	import _ "gocloud.dev/blob/s3blob"
//
//	bucket.Open(ctx, "s3://company?region=eu-central-1&prefix=fields/")
func Example() {
	ctx := context.Background()
	b, err := bucket.Open(ctx, "mem://")
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	if err := recipe.Onto(flow.From(sources.Families{Graphs: 12})).To(out.Sink{Bucket: b}).Run(ctx); err != nil {
		log.Fatal(err)
	}
	names, err := b.List(ctx, "")
	fmt.Println(names, err)
	rows := int64(0)
	running := flow.From(in.Source{Bucket: b}).Start(ctx)
	err = running.Wait()
	rows = running.Stats().Stages[0].RowsOut
	fmt.Println(rows, "rows", err)
	// Output:
	// [manifest.json part-00000.parquet] <nil>
	// 12 rows <nil>
}

func open(t *testing.T, url string) *bucket.Bucket {
	t.Helper()
	b, err := bucket.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func TestBuckets(t *testing.T) {
	filetest.Bucket(t, open(t, "mem://"))
	filetest.Bucket(t, open(t, "mem://?prefix=a/b/"))
	filetest.Bucket(t, open(t, "file://"+filepath.ToSlash(t.TempDir())+"?no_tmp_dir=true&metadata=skip"))
}

func job(b file.Bucket) *part.Job {
	src := sources.Families{Graphs: 23}
	return &part.Job{
		Plan:     part.Plan{Recipe: fmt.Sprint(recipe), Input: "families", Parts: part.Cut(23, 4)},
		Out:      b,
		Pipeline: func(in part.Input) flow.Pipeline { return recipe.Onto(flow.From(part.Rows{Source: src, Input: in})) },
		Sink:     func(w io.Writer) flow.Sink { return out.Sink{W: w} },
	}
}

// all returns the files of a bucket.
func all(t *testing.T, b file.Bucket) map[string]string {
	t.Helper()
	names, err := b.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range names {
		o, err := b.Get(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size()))
		if err = errors.Join(err, o.Close()); err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	return files
}

// A bucket gets the files that a directory gets, by parts of a plan and by a sink; a second run of
// the sink replaces the first.
func TestSameAsDirectory(t *testing.T) {
	for _, write := range []func(b file.Bucket) error{
		func(b file.Bucket) error { return job(b).Run(t.Context(), part.Shard{}, nil) },
		func(b file.Bucket) error {
			for _, graphs := range []int{9, 23} {
				sink := out.Sink{Bucket: b, PartBytes: 1, RowGroupBytes: 1}
				if dir, ok := b.(file.Dir); ok {
					sink = out.Sink{Dir: dir.Path, PartBytes: 1, RowGroupBytes: 1}
				}
				if err := recipe.Onto(flow.From(sources.Families{Graphs: graphs, Rows: 5})).To(sink).Run(t.Context()); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		dir, mem := file.Dir{Path: t.TempDir()}, open(t, "mem://")
		for _, b := range []file.Bucket{dir, mem} {
			if err := write(b); err != nil {
				t.Fatalf("%v: %v", b, err)
			}
		}
		if want, got := all(t, dir), all(t, mem); !maps.Equal(got, want) {
			t.Errorf("the bucket has %v, the directory %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
	}
}

// Errors name a file by the URL of its bucket.
func TestNames(t *testing.T) {
	b := open(t, "mem://?prefix=a/")
	if _, err := b.Get(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "mem://x") {
		t.Errorf("%v", err)
	}
	if err := file.Put(t.Context(), b, "manifest.json", func(w io.Writer) error { _, err := io.WriteString(w, "{"); return err }); err != nil {
		t.Fatal(err)
	}
	if err := flow.From(in.Source{Bucket: b}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "manifest: mem://manifest.json: ") {
		t.Errorf("%v", err)
	}
}

// failing is a bucket of which the n-th write fails, or is slow.
type failing struct {
	file.Bucket
	left *int
	slow time.Duration
}

var errStore = errors.New("503 Slow Down")

func (f failing) Create(ctx context.Context, name string) (file.Upload, error) {
	u, err := f.Bucket.Create(ctx, name)
	return failingUpload{u, f}, err
}

type failingUpload struct {
	file.Upload
	of failing
}

func (u failingUpload) Publish() error {
	time.Sleep(u.of.slow)
	if *u.of.left--; *u.of.left < 0 {
		return errors.Join(errStore, u.Discard())
	}
	return u.Upload.Publish()
}

// A store that fails at any write loses nothing: the next run makes what is missing, and the files
// are those of a run without trouble.
func TestFailingStore(t *testing.T) {
	clean := open(t, "mem://")
	if err := job(clean).Run(t.Context(), part.Shard{}, nil); err != nil {
		t.Fatal(err)
	}
	want := all(t, clean)
	for n := range len(want) {
		b := open(t, "mem://")
		err := job(failing{Bucket: b, left: &n, slow: time.Millisecond}).Run(t.Context(), part.Shard{}, nil)
		if !errors.Is(err, errStore) || strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("%v, want %v in one line", err, errStore)
		}
		for name, text := range all(t, b) {
			if text != want[name] {
				t.Errorf("%s is wrong", name)
			}
		}
		if err := job(b).Run(t.Context(), part.Shard{}, nil); err != nil {
			t.Fatal(err)
		}
		if got := all(t, b); !maps.Equal(got, want) {
			t.Errorf("after a failure: %v", slices.Sorted(maps.Keys(got)))
		}
	}
	for _, url := range []string{"s3://fields", "nope", "file:///no/such/place"} {
		if _, err := bucket.Open(t.Context(), url); err == nil || !strings.HasPrefix(err.Error(), "bucket: "+url) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
