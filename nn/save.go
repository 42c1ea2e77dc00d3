package nn

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"
)

// Metadata that sanflow writes begins with this; the rest is the user's Info.
const metaPrefix = "sanflow."

const (
	metaModel    = metaPrefix + "model"
	metaVersion  = metaPrefix + "version"
	metaShape    = metaPrefix + "shape"
	metaSettings = metaPrefix + "settings"
	metaSum      = metaPrefix + "sha256" // of the other sanflow.* entries and the weights
)

const fileVersion = "2"

// save is Save of every model.
func (c *core) save(w io.Writer, info map[string]string) error {
	if c == nil {
		return ErrNotReady
	}
	if !c.Trained() {
		return ErrUntrained
	}
	return c.work.save(w, maps.Clone(c.meta), info)
}

// save writes the weights, with meta, which it adds to, and info as metadata.
func (p *params) save(w io.Writer, meta, info map[string]string) error {
	list := p.tensors()
	if err := checkFinite(list); err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	return saveTensors(w, meta, info, list)
}

// saveTensors writes a model with its checksum.
func saveTensors(w io.Writer, meta, info map[string]string, list []tensorData) error {
	meta[metaSum] = checksum(meta, list)
	for k, v := range info {
		if k == "" || strings.HasPrefix(k, metaPrefix) {
			return fmt.Errorf("nn: save: Info has the key %q, want one that is not empty and does not begin with %q", k, metaPrefix)
		}
		meta[k] = v
	}
	return writeTensors(w, meta, list)
}

// Load reads a model of any type that Save wrote, up to the end of r. A file
// that is damaged, or holds something else, is an error.
func Load(r io.Reader) (Model, error) {
	meta, list, err := readTensors(r)
	if err != nil {
		return nil, err
	}
	return loadModel(meta, list)
}

// LoadPredictor is Load for whatever answers: models and an SVM, which learns by
// no steps.
func LoadPredictor(r io.Reader) (Noted, error) {
	meta, list, err := readTensors(r)
	if err != nil {
		return nil, err
	}
	if meta[metaModel] == svmKind {
		m, err := restoredSVM(meta, list)
		if err != nil {
			return nil, fmt.Errorf("nn: load: %w", err)
		}
		return m, nil
	}
	m, err := loadModel(meta, list)
	if err != nil {
		return nil, err
	}
	return m.(Noted), nil
}

func loadModel(meta map[string]string, list []tensorData) (Model, error) {
	switch kind := meta[metaModel]; kind {
	case "cnn":
		return restored[CNN](meta, list)
	case "gru":
		return restored[GRU](meta, list)
	case "logistic":
		return restored[Logistic](meta, list)
	case svmKind:
		return nil, errors.New("nn: load: the file holds an SVM, which SVM.Load and LoadPredictor read")
	case deepKind:
		return nil, errors.New("nn: load: the file holds a Deep, vectors of a kernel, which Deep.Load reads")
	case "link":
		return restored[Link](meta, list)
	case "pooled":
		return restored[Pooled](meta, list)
	case "pslr":
		return restored[PSLR](meta, list)
	default:
		return nil, fmt.Errorf("nn: load: the file holds a model %q, want \"cnn\", \"gru\", \"link\", \"logistic\", \"pooled\", \"pslr\" or \"svm\"", kind)
	}
}

func restored[M any, P interface {
	pointer[M]
	Model
}](meta map[string]string, list []tensorData) (Model, error) {
	m := P(new(M))
	if err := restore(m, meta, list); err != nil {
		return nil, err
	}
	return m, nil
}

// load is Load of every model. m is as before when it fails.
func load[M any, P pointer[M]](m P, r io.Reader) error {
	if *m.settings().core != nil {
		return errors.New("nn: load: the model has been initialised already")
	}
	meta, list, err := readTensors(r)
	if err != nil {
		return err
	}
	return restore(m, meta, list)
}

// restore makes m the model that a file holds.
func restore[M any, P pointer[M]](m P, meta map[string]string, list []tensorData) error {
	next := *m
	c, err := rebuild(P(&next), meta, list)
	if err != nil {
		return fmt.Errorf("nn: load: %w", err)
	}
	*m = next
	set := m.settings()
	*set.core = c
	*set.info = userInfo(meta)
	return nil
}

func rebuild(m architecture, meta map[string]string, list []tensorData) (*core, error) {
	shape, saved, err := parseMetadata(meta, m.settings().kind)
	if err != nil {
		return nil, err
	}
	if err := m.settings().adopt(saved); err != nil {
		return nil, err
	}
	c, err := build(m, shape)
	if err != nil {
		return nil, err
	}
	if err := c.work.verify(meta, list); err != nil {
		return nil, err
	}
	c.start()
	c.work.set(list)
	c.taught = true
	return c, nil
}

// userInfo returns the part of the metadata that is the user's.
func userInfo(meta map[string]string) map[string]string {
	info := maps.Clone(meta)
	maps.DeleteFunc(info, func(k, _ string) bool { return strings.HasPrefix(k, metaPrefix) })
	return info
}

func parseMetadata(meta map[string]string, kind string) (Shape, savedSettings, error) {
	var shape Shape
	var saved savedSettings
	if err := checkKind(meta, kind); err != nil {
		return shape, saved, err
	}
	if err := strictJSON([]byte(meta[metaShape]), &shape); err != nil {
		return shape, saved, fmt.Errorf("shape: %w", err)
	}
	if err := strictJSON([]byte(meta[metaSettings]), &saved); err != nil {
		return shape, saved, fmt.Errorf("settings: %w", err)
	}
	return shape, saved, nil
}

// checkKind returns an error unless a file holds a model of that kind, in the
// form of this version.
func checkKind(meta map[string]string, kind string) error {
	if meta[metaModel] != kind {
		return fmt.Errorf("the file holds a model %q, want %q", meta[metaModel], kind)
	}
	if meta[metaVersion] != fileVersion {
		return fmt.Errorf("the file is of version %q, want %q", meta[metaVersion], fileVersion)
	}
	return nil
}

// verify returns an error unless list, the tensors of a file, is what save
// wrote of a network laid out like p.
func (p *params) verify(meta map[string]string, list []tensorData) error {
	if err := p.fits(list); err != nil {
		return err
	}
	if err := checkFinite(list); err != nil {
		return err
	}
	if got := checksum(meta, list); got != meta[metaSum] {
		return fmt.Errorf("the file is damaged: its checksum is %s, want %q", got, meta[metaSum])
	}
	return nil
}

// set gives the weights the values of a file that fits.
func (p *params) set(list []tensorData) {
	for i, t := range list {
		copy(p.list[i].w, t.x)
	}
}

// fits returns an error unless list has the tensors of the network, in order.
func (p *params) fits(list []tensorData) error {
	if len(list) != len(p.list) {
		return fmt.Errorf("%d tensors, want %d", len(list), len(p.list))
	}
	for i, w := range p.list {
		if t := list[i]; t.name != w.name || t.dtype != "" || !slices.Equal(t.shape, w.shape) {
			return fmt.Errorf("tensor %d is %q %v, want %q %v", i, t.name, t.shape, w.name, w.shape)
		}
	}
	return nil
}

// tensors returns the weights for writing; they share memory with p.
func (p *params) tensors() []tensorData {
	list := make([]tensorData, len(p.list))
	for i, w := range p.list {
		list[i] = tensorData{name: w.name, shape: w.shape, x: w.w}
	}
	return list
}

func checkFinite(list []tensorData) error {
	for _, t := range list {
		for i, x := range t.x {
			if !finite(float64(x)) {
				return fmt.Errorf("value %d of %s is %v", i, t.name, x)
			}
		}
	}
	return nil
}

// Hash returns the SHA-256 of the weights in hexadecimal: equal for models of
// one type and shape that predict alike to the last bit. Settings and Info are
// not part of it. It is empty before Init.
func (c *core) Hash() string {
	if c == nil {
		return ""
	}
	h := sha256.New()
	hashTensors(h, c.work.tensors())
	return hex.EncodeToString(h.Sum(nil))
}

// checksum covers what sanflow wrote, so that Info can be edited by others.
func checksum(meta map[string]string, list []tensorData) string {
	h := sha256.New()
	for _, k := range slices.Sorted(maps.Keys(meta)) {
		if strings.HasPrefix(k, metaPrefix) && k != metaSum {
			fmt.Fprintf(h, "%q: %q\n", k, meta[k])
		}
	}
	hashTensors(h, list)
	return hex.EncodeToString(h.Sum(nil))
}

func hashTensors(h hash.Hash, list []tensorData) {
	for _, t := range list {
		fmt.Fprintf(h, "%s %v\n", t.name, t.shape)
		t.write(h) // a hash returns no error
	}
}
