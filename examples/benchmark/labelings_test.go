package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/leak"
)

// labelings runs the command and returns its JSON object.
func labelings(t *testing.T, args ...string) thetas {
	t.Helper()
	return clitest.JSON[thetas](t, labelingsTask, args...)
}

func TestLabelingsGeneratedAtAnyWorkers(t *testing.T) {
	defer leak.VerifyNone(t)
	var want thetas
	for _, workers := range []string{"1", "3"} {
		r := labelings(t, "-k", "5", "-pairs", "100", "-workers", workers, "-labelings", "wl, degree,Clustering")
		for i := range r.Estimates {
			r.Estimates[i].Seconds = 0
		}
		if workers == "1" {
			want = r
			continue
		}
		a, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("3 workers: %s, one: %s", a, b)
		}
	}
	if want.Dataset != "generated" || want.K != 5 || want.Pairs != 100 || len(want.Estimates) != 3 || want.Crop != "wl" {
		t.Errorf("%+v", want)
	}
	if !slices.IsSortedFunc(want.Estimates, func(a, b estimate) int { return int(1e6 * (*a.Theta - *b.Theta)) }) || want.Best != want.Estimates[0].Labeling {
		t.Errorf("the best is not first: %+v", want)
	}
}

// A labeling that the graph cannot have does not spoil the others.
func TestLabelingsGraphWithAFailure(t *testing.T) {
	path := clitest.File(t, "triangle.txt", "0 1\n1 2\n2 0\n2 3\n")
	r := labelings(t, "-graph", path, "-k", "3", "-pairs", "20", "-labelings", "attribute-0,degree")
	last := r.Estimates[1]
	if r.Dataset != "triangle" || r.Best != "degree" || last.Labeling != "attribute-0" || last.Theta != nil || !strings.Contains(last.Error, "no such attribute") {
		t.Errorf("%+v", r)
	}
}

func TestLabelingsBadFlags(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	for _, c := range []struct{ args, want string }{
		{"-k 0", "-k is 0"},
		{"-k 300", "-k is 300"},
		{"-pairs 1", "-pairs is 1"},
		{"-k 5 -bound 4", "-bound is 4"},
		{"-workers -1", "-workers is -1"},
		{"-labelings wl,foo", `unknown labeling "foo"`},
		{"-labelings wl,WL", "wl is listed twice"},
		{"-labelings auto", "auto is the result"},
		{"-crop foo", "-crop: labeling: unknown"},
		{"-json /nowhere/a.json", "/nowhere/a.json"},
		{"-data a -graph b", "want one"},
		{"-directed", "needs -graph"},
		{"-graph /nowhere/a", "/nowhere/a"},
		{"-data ./nowhere.zip", "nowhere.zip"},
		{"more", `unexpected argument "more"`},
	} {
		if err := labelingsTask(ctx, strings.Fields(c.args)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.args, err, c.want)
		}
	}
	cancel()
	if err := labelingsTask(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
