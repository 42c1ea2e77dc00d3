package filetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/file"
)

// Bucket checks that an empty bucket keeps the promises of file.Bucket.
func Bucket(t *testing.T, b file.Bucket) {
	t.Helper()
	ctx := t.Context()
	text := func(name string) string {
		o, err := b.Get(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			return "absent"
		}
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		all, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size()))
		if err != nil || int64(len(all)) != o.Size() {
			t.Errorf("%s: %d bytes of %d, %v", name, len(all), o.Size(), err)
		}
		return string(all)
	}
	put := func(name, text string) {
		t.Helper()
		if err := file.Put(ctx, b, name, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	is := func(name, want string) {
		t.Helper()
		if got := text(name); got != want {
			t.Errorf("%s is %.40q, want %.40q", name, got, want)
		}
	}
	is("a", "absent")
	if err := b.Remove(ctx, "a"); err != nil {
		t.Errorf("removing what is absent: %v", err)
	}
	long := strings.Repeat("0123456789", 100_000)
	put("a", "old")
	put("part-1", "")
	put("part-0", long)
	is("a", "old")
	is("part-1", "")
	is("part-0", long)

	// A name has its old content until Publish returns, and after an error.
	u, err := b.Create(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(u, long); err != nil {
		t.Fatal(err)
	}
	is("a", "old")
	if err := u.Publish(); err != nil {
		t.Fatal(err)
	}
	if err := u.Discard(); err != nil {
		t.Errorf("Discard after Publish: %v", err)
	}
	is("a", long)
	broken := errors.New("broken")
	for _, name := range []string{"a", "new"} {
		if err := file.Put(ctx, b, name, func(w io.Writer) error {
			fmt.Fprint(w, "half")
			return broken
		}); !errors.Is(err, broken) {
			t.Errorf("%v, want the error of the writer", err)
		}
	}
	is("a", long)
	is("new", "absent")

	for prefix, want := range map[string][]string{"": {"a", "part-0", "part-1"}, "part-": {"part-0", "part-1"}, "x": nil} {
		if got, err := b.List(ctx, prefix); err != nil || !slices.Equal(got, want) {
			t.Errorf("names with %q: %q, want %q; %v", prefix, got, want, err)
		}
	}

	// Ranges, with the rules of io.ReaderAt.
	o, err := b.Get(ctx, "part-0")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at, n, want int64
		end         bool
	}{{0, 10, 10, false}, {999_990, 10, 10, false}, {999_995, 10, 5, true}, {1_000_000, 1, 0, true}, {2_000_000, 1, 0, true}, {5, 0, 0, false}} {
		p := make([]byte, c.n)
		n, err := o.ReadAt(p, c.at)
		if int64(n) != c.want || (err == io.EOF) != c.end && !(err == io.EOF && c.at+c.n == o.Size()) || err != nil && err != io.EOF {
			t.Errorf("%d bytes at %d: %d, %v", c.n, c.at, n, err)
		}
		if n > 0 && string(p[:n]) != long[c.at:c.at+int64(n)] {
			t.Errorf("%d bytes at %d are %q", c.n, c.at, p[:n])
		}
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	if err := b.Remove(ctx, "part-0"); err != nil {
		t.Error(err)
	}
	is("part-0", "absent")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if u, err := b.Create(ended, "late"); err == nil {
		_, err = io.WriteString(u, "x")
		if err = errors.Join(err, u.Publish()); err == nil {
			put("late", "x") // a bucket may publish: what counts is that nothing is half
			is("late", "x")
		}
	}
	if b.String() == "" {
		t.Error("it has no name")
	}
}
