package nn

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
)

// Keys of the metadata of a file.
const (
	keyShape    = "shape"
	keySettings = "settings"
)

// kinds has a constructor for each kind of model that a file can hold.
var kinds = map[string]func(*modelfile.File) (any, error){
	"cnn": restored(restoreNet[CNN]), "gru": restored(restoreNet[GRU]), "link": restored(restoreNet[Link]),
	"logistic": restored(restoreNet[Logistic]), "pooled": restored(restoreNet[Pooled]), "pslr": restored(restoreNet[PSLR]),
	"rbm": restored((*RBM).restore), "autoencoder": restored((*Autoencoder).restore),
	svmKind: restored((*SVM).restore), deepKind: restored((*Deep).restore),
}

// restored returns a function that makes a new model of a file.
func restored[M any](restore func(*M, *modelfile.File) error) func(*modelfile.File) (any, error) {
	return func(f *modelfile.File) (any, error) {
		m := new(M)
		return m, restore(m, f)
	}
}

// Load reads a network of any type that Save wrote, up to the end of r. A file
// that is damaged, or holds something else, is an error.
func Load(r io.Reader) (Model, error) { return loadAs[Model](r, "network") }

// LoadPredictor is Load for everything that answers: a network or an SVM, which
// learns by no steps.
func LoadPredictor(r io.Reader) (Noted, error) { return loadAs[Noted](r, "model that predicts") }

// loadAs reads a model of any kind that is a T.
func loadAs[T any](r io.Reader, what string) (t T, err error) {
	f, err := modelfile.Read(r)
	if err != nil {
		return t, fmt.Errorf("nn: load: %w", err)
	}
	restore, ok := kinds[f.Kind]
	if !ok {
		return t, fmt.Errorf("nn: load: the file holds a model %q, want one of %q", f.Kind, slices.Sorted(maps.Keys(kinds)))
	}
	m, err := restore(f)
	if err != nil {
		return t, fmt.Errorf("nn: load: %w", err)
	}
	t, ok = m.(T)
	if !ok {
		return t, fmt.Errorf("nn: load: the file holds a model %q, which is no %s; %T.Load reads it", f.Kind, what, m)
	}
	return t, nil
}

// LoadFile reads a network of any type that Save or SaveFile wrote.
func LoadFile(name string) (Model, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("nn: load: %w", err)
	}
	defer f.Close()
	m, err := Load(bufio.NewReader(f))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// SaveFile saves a model, or anything else that has Save, under that name. The
// file appears whole or not at all: see package flow/file.
func SaveFile(name string, m interface{ Save(io.Writer) error }) error {
	return SaveFileOn(nil, name, m)
}

// SaveFileOn is SaveFile on a file system; nil is that of this machine.
func SaveFileOn(fsys file.FS, name string, m interface{ Save(io.Writer) error }) error {
	f, err := file.Create(fsys, name)
	if err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	defer f.Discard()
	if err := m.Save(f); err != nil {
		return err
	}
	if err := f.Publish(); err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	return nil
}

// save is Save of every network.
func (c *core) save(w io.Writer, info map[string]string) error {
	switch {
	case c == nil:
		return ErrNotReady
	case !c.Trained():
		return ErrUntrained
	}
	return modelfile.Save(w, &modelfile.File{Kind: c.arch.settings().kind, Meta: c.meta, Info: info, Tensors: c.work.tensors()}, nil)
}

// load is Load of every network. m is as before when it fails.
func load[M any, P pointer[M]](m P, r io.Reader) error {
	return modelfile.Load((*M)(m), r, *m.settings().core != nil, restoreNet[M, P])
}

// restoreNet makes m the network that a file holds.
func restoreNet[M any, P pointer[M]](m *M, f *modelfile.File) error {
	set := P(m).settings()
	if err := f.Is(set.kind); err != nil {
		return err
	}
	var shape Shape
	var saved savedSettings
	if err := errors.Join(f.Get(keyShape, &shape), f.Get(keySettings, &saved)); err != nil {
		return err
	}
	if err := set.adopt(saved); err != nil {
		return err
	}
	arch := *m // the core keeps a copy of its own
	c, err := build(P(&arch), shape)
	if err != nil {
		return err
	}
	if err := c.work.fits(f.Tensors); err != nil {
		return err
	}
	c.start()
	c.work.set(f.Tensors)
	c.taught = true
	*m = arch
	*set.core, *set.info = c, f.Info
	return nil
}

// set gives the weights the values of a file that fits.
func (p *params) set(list []modelfile.Tensor) {
	for i, t := range list {
		copy(p.list[i].w, t.F32)
	}
}

// fits returns an error unless list has the tensors of the network, in order.
func (p *params) fits(list []modelfile.Tensor) error { return fitTensors(list, p.tensors()) }

// fitTensors returns an error unless list has the tensors in want, in order.
func fitTensors(list, want []modelfile.Tensor) error {
	if len(list) != len(want) {
		return fmt.Errorf("%d tensors, want %d", len(list), len(want))
	}
	for i, t := range want {
		if err := list[i].Fits(t); err != nil {
			return fmt.Errorf("tensor %d: %w", i, err)
		}
	}
	return nil
}

// tensors returns the weights for writing; they share memory with p.
func (p *params) tensors() []modelfile.Tensor {
	list := make([]modelfile.Tensor, len(p.list))
	for i, w := range p.list {
		list[i] = modelfile.Tensor{Name: w.name, Shape: w.shape, F32: w.w}
	}
	return list
}

// hash returns the SHA-256 of the weights in hexadecimal.
func (p *params) hash() string { return modelfile.Hash(p.tensors()) }

// Hash returns the SHA-256 of the weights in hexadecimal: equal for models of
// one type and shape that predict alike to the last bit. Settings and Info are
// not part of it. It is empty before Init.
func (c *core) Hash() string {
	if c == nil {
		return ""
	}
	return c.work.hash()
}
