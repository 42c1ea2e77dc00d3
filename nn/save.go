package nn

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

const fileVersion = "1"

// settings is what a file says of a CNN beside its shape.
type settings struct {
	Maps1     int             `json:"maps1"`
	Maps2     int             `json:"maps2"`
	Size2     int             `json:"size2"`
	Hidden    int             `json:"hidden"`
	Dropout   float64         `json:"dropout"`
	Optimizer string          `json:"optimizer"`
	Rates     json.RawMessage `json:"optimizer_settings"`
	Seed      uint64          `json:"seed"`
}

// Save writes the network as a safetensors file, which other tools read too:
// the weights, and as metadata the settings, the shape and Info. The same
// network gives the same bytes. Optimizer state and counts are not part of it.
func (c *CNN) Save(w io.Writer) error {
	if c.net == nil {
		return ErrNotReady
	}
	meta := maps.Clone(c.meta)
	list := c.net.tensors()
	if err := checkFinite(list); err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	meta[metaSum] = checksum(meta, list)
	for k, v := range c.Info {
		if k == "" || strings.HasPrefix(k, metaPrefix) {
			return fmt.Errorf("nn: save: Info has the key %q, want one that is not empty and does not begin with %q", k, metaPrefix)
		}
		meta[k] = v
	}
	return writeTensors(w, meta, list)
}

// metadata returns what a file says of the network beside its weights.
func (c *CNN) metadata() (map[string]string, error) {
	shape, err := json.Marshal(c.shape)
	if err != nil {
		return nil, err
	}
	rates, err := json.Marshal(c.Optimizer)
	if err != nil {
		return nil, err
	}
	set, err := json.Marshal(settings{
		Maps1: c.Maps1, Maps2: c.Maps2, Size2: c.Size2, Hidden: c.Hidden,
		Dropout: c.Dropout, Optimizer: c.Optimizer.name(), Rates: rates, Seed: c.Seed,
	})
	if err != nil {
		return nil, err
	}
	return map[string]string{
		metaModel: "cnn", metaVersion: fileVersion, metaShape: string(shape), metaSettings: string(set),
	}, nil
}

// Load reads what Save wrote, up to the end of r, and is used instead of Init
// or before it. Settings come from the file: those of c that shape the network
// must be zero or agree, while Dropout, Optimizer and Seed stay when they are
// set. A file that is damaged, or is not a CNN, is an error, and c is as
// before.
func (c *CNN) Load(r io.Reader) error {
	if c.net != nil {
		return fmt.Errorf("nn: load: the network has been initialised already")
	}
	meta, list, err := readTensors(r)
	if err != nil {
		return err
	}
	shape, set, err := parseMetadata(meta)
	if err != nil {
		return fmt.Errorf("nn: load: %w", err)
	}
	next, err := c.adopt(set)
	if err != nil {
		return fmt.Errorf("nn: load: %w", err)
	}
	if err := next.build(shape); err != nil {
		return fmt.Errorf("nn: load: %w", err)
	}
	if err := next.net.fits(list); err != nil {
		return fmt.Errorf("nn: load: %w", err)
	}
	if err := checkFinite(list); err != nil {
		return fmt.Errorf("nn: load: %w", err)
	}
	if got := checksum(meta, list); got != meta[metaSum] {
		return fmt.Errorf("nn: load: the file is damaged: its checksum is %s, want %q", got, meta[metaSum])
	}
	next.start()
	for i, t := range list {
		copy(next.net.list[i].w, t.x)
	}
	next.Info = maps.Clone(meta)
	maps.DeleteFunc(next.Info, func(k, _ string) bool { return strings.HasPrefix(k, metaPrefix) })
	*c = next
	return nil
}

func parseMetadata(meta map[string]string) (Shape, settings, error) {
	var shape Shape
	var set settings
	if meta[metaModel] != "cnn" {
		return shape, set, fmt.Errorf("the file holds a model %q, want \"cnn\"", meta[metaModel])
	}
	if meta[metaVersion] != fileVersion {
		return shape, set, fmt.Errorf("the file is of version %q, want %q", meta[metaVersion], fileVersion)
	}
	if err := strictJSON([]byte(meta[metaShape]), &shape); err != nil {
		return shape, set, fmt.Errorf("shape: %w", err)
	}
	if err := strictJSON([]byte(meta[metaSettings]), &set); err != nil {
		return shape, set, fmt.Errorf("settings: %w", err)
	}
	return shape, set, nil
}

// adopt returns c with the settings of a file.
func (c *CNN) adopt(set settings) (CNN, error) {
	next := *c
	for _, f := range []struct {
		name string
		mine *int
		file int
	}{
		{"Maps1", &next.Maps1, set.Maps1}, {"Maps2", &next.Maps2, set.Maps2},
		{"Size2", &next.Size2, set.Size2}, {"Hidden", &next.Hidden, set.Hidden},
	} {
		if *f.mine != 0 && *f.mine != f.file {
			return next, fmt.Errorf("%s is %d, the file has %d", f.name, *f.mine, f.file)
		}
		*f.mine = f.file
	}
	if next.Dropout == 0 {
		next.Dropout = set.Dropout
	}
	if next.Seed == 0 {
		next.Seed = set.Seed
	}
	if next.Optimizer == nil {
		o, err := parseOptimizer(set.Optimizer, set.Rates)
		if err != nil {
			return next, err
		}
		next.Optimizer = o
	}
	return next, nil
}

// fits returns an error unless list has the tensors of the network, in order.
func (p *params) fits(list []tensorData) error {
	if len(list) != len(p.list) {
		return fmt.Errorf("%d tensors, want %d", len(list), len(p.list))
	}
	for i, w := range p.list {
		if t := list[i]; t.name != w.name || !slices.Equal(t.shape, w.shape) {
			return fmt.Errorf("tensor %d is %q %v, want %q %v", i, t.name, t.shape, w.name, w.shape)
		}
	}
	return nil
}

// tensors returns the weights for writing; they share memory with p.
func (p *params) tensors() []tensorData {
	list := make([]tensorData, len(p.list))
	for i, w := range p.list {
		list[i] = tensorData{w.name, w.shape, w.w}
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

// Hash returns the SHA-256 of the weights in hexadecimal: equal for networks
// that predict alike to the last bit. Settings and Info are not part of it. It
// is empty before Init.
func (c *CNN) Hash() string {
	if c.net == nil {
		return ""
	}
	h := sha256.New()
	hashTensors(h, c.net.tensors())
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
		writeFloats(h, t.x) // a hash returns no error
	}
}
