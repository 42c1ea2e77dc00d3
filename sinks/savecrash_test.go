package sinks_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/filetest"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
)

// Each call of saving a model over another fails once, all from each on fail, and the
// machine dies at each: what Load returns then is the one model or the other. Each call
// of reading fails too: that is an error.
func TestSaveLoadCrash(t *testing.T) {
	race.Skip(t)
	src := stream(t, paths(20, nil))
	layout, err := record.LayoutOf(src.Records[0].Schema())
	if err != nil {
		t.Fatal(err)
	}
	recipe := append(operators.Recipe{operators.Expect{Layout: layout}}, shortRecipe[:3]...)
	train := func(epochs int) (*nn.PSLR, string) {
		net := &nn.PSLR{}
		_, err := sinks.Fit{Net: net, Epochs: epochs, Batch: 8}.Run(context.Background(), recipe.Onto(flow.From(src)))
		if err != nil {
			t.Fatal(err)
		}
		return net, net.Hash()
	}
	was, wasHash := train(1)
	now, nowHash := train(2)
	save := func(fsys file.FS, dir string, net *nn.PSLR) error {
		return file.Write(fsys, filepath.Join(dir, "model"), func(w io.Writer) error { return sinks.Write(w, net, recipe) })
	}
	hashOf := func(p *sinks.Predictor, err error) (string, error) {
		if err != nil {
			return "", err
		}
		return p.Net().(*nn.PSLR).Hash(), p.Close()
	}
	saved, failed := 0, 0
	filetest.Torture(t,
		func(dir string) {
			if err := save(nil, dir, was); err != nil {
				t.Fatal(err)
			}
		},
		func(d *filetest.Disk, dir string) error {
			if err := save(d, dir, now); err != nil {
				return err
			}
			f, err := d.Open(filepath.Join(dir, "model"))
			if err != nil {
				return err
			}
			hash, err := hashOf(sinks.Read(bufio.NewReader(f)))
			if err == nil && hash != nowHash {
				t.Errorf("the model %.8s was read, want %.8s", hash, nowHash)
			}
			return errors.Join(err, f.Close())
		},
		func(t *testing.T, o filetest.Outcome) {
			if saved++; !o.Done {
				failed++
			}
			hash, err := hashOf(sinks.Load(filepath.Join(o.Dir, "model")))
			if err != nil || !slices.Contains([]string{wasHash, nowHash}, hash) || o.Done && hash != nowHash {
				t.Errorf("%s: the model %.8s, %v", o.What, hash, err)
			}
			left, listed := os.ReadDir(o.Dir)
			if err := errors.Join(save(nil, o.Dir, now), listed); err != nil || len(left) > 2 {
				t.Errorf("%s: the next: %v; %v is left", o.What, err, left)
			}
		})
	t.Logf("%d failures and crashes, %d of them before the end", saved, failed)
}
