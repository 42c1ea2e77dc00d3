package modelfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
)

// Versions of the files that Write writes and Read reads: of a model, and of a
// checkpoint.
const (
	Version           = "4"
	CheckpointVersion = "5"
)

// Checkpoint begins the Kind of a checkpoint, so that no file is taken for a model.
const Checkpoint = "checkpoint of "

func versionOf(kind string) string {
	if strings.HasPrefix(kind, Checkpoint) {
		return CheckpointVersion
	}
	return Version
}

// prefix begins the metadata keys of sanflow. All other keys are the user's Info.
const prefix = "sanflow."

const (
	keyKind    = prefix + "model"
	keyVersion = prefix + "version"
	keySum     = prefix + "sha256"
)

// Keys of Meta that most kinds have.
const (
	Shape    = "shape"
	Settings = "settings"
)

// File is the content of a model file.
type File struct {
	Kind    string            // of the model
	Meta    map[string]string // metadata of the kind, by keys without "sanflow."
	Info    map[string]string // metadata of the user
	Tensors []Tensor
}

// Get decodes an entry of Meta, which Save encoded from a value of the same type, into v. The entry must
// equal v encoded again, so that no field is missing.
func (f *File) Get(key string, v any) error {
	err := StrictJSON([]byte(f.Meta[key]), v)
	var again []byte
	if err == nil {
		again, err = json.Marshal(v)
	}
	if err == nil && string(again) != f.Meta[key] {
		err = errors.New("a value is missing, or not as it was written")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// Open decodes the settings of a file with a model of that kind.
func (f *File) Open(kind string, settings any) error {
	if f.Kind != kind {
		return fmt.Errorf("the file holds a model %q, want %q", f.Kind, kind)
	}
	return f.Get(Settings, settings)
}

// zeros replace the digits of the checksum while it is computed.
var zeros = strings.Repeat("0", 2*sha256.Size)

// Write writes the file. The same File gives the same bytes. An Info key that is empty or begins with
// "sanflow.", and a number that is not finite, are errors.
func (f *File) Write(w io.Writer) error {
	if err := finite(f.Tensors); err != nil {
		return err
	}
	meta := map[string]string{keyKind: f.Kind, keyVersion: versionOf(f.Kind), keySum: zeros}
	for k, v := range f.Meta {
		meta[prefix+k] = v
	}
	for k, v := range f.Info {
		if k == "" || strings.HasPrefix(k, prefix) {
			return fmt.Errorf("Info has the key %q, want one that is not empty and does not begin with %q", k, prefix)
		}
		meta[k] = v
	}
	header, err := formatHeader(meta, f.Tensors)
	if err != nil {
		return err
	}
	at, err := sumAt(header)
	if err != nil {
		return err
	}
	h := sha256.New()
	h.Write(header) // a hash returns no error
	for _, t := range f.Tensors {
		t.write(h)
	}
	hex.Encode(header[at:], h.Sum(nil))
	if _, err := w.Write(header); err != nil {
		return err
	}
	for _, t := range f.Tensors {
		if err := t.write(w); err != nil {
			return err
		}
	}
	return nil
}

// sumAt returns the position of the digits of the checksum. JSON escapes quotes within a text, so no text of
// the user looks like the key.
func sumAt(header []byte) (int, error) {
	key := []byte(`"` + keySum + `":"`)
	at := bytes.Index(header, key)
	if at += len(key); at < len(key) || at+len(zeros) > len(header) || bytes.Contains(header[at:], key) {
		return 0, errors.New("the file has no checksum")
	}
	return at, nil
}

// Read reads the output of Write, up to the end of r.
func Read(r io.Reader) (*File, error) {
	header, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	meta, list, err := parseHeader(header[8:])
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	switch version, ok := meta[keyVersion]; {
	case !ok:
		return nil, errors.New("the file has no sanflow.version, so it is not a model of sanflow")
	case version != versionOf(meta[keyKind]):
		return nil, fmt.Errorf("the file is of version %q, want %q", version, versionOf(meta[keyKind]))
	}
	data, err := readData(r, list)
	if err != nil {
		return nil, err
	}
	if err := checkSum(header, data); err != nil {
		return nil, err
	}
	f := &File{Kind: meta[keyKind], Meta: map[string]string{}, Info: map[string]string{}}
	for _, key := range []string{keyKind, keyVersion, keySum} {
		delete(meta, key)
	}
	for k, v := range meta {
		if own, ok := strings.CutPrefix(k, prefix); ok {
			f.Meta[own] = v
		} else {
			f.Info[k] = v
		}
	}
	for _, e := range list {
		f.Tensors = append(f.Tensors, e.tensor(data[:e.size()]))
		data = data[e.size():]
	}
	return f, finite(f.Tensors)
}

// checkSum compares a file with its checksum. It changes header.
func checkSum(header, data []byte) error {
	at, err := sumAt(header)
	if err != nil {
		return err
	}
	sum := header[at : at+len(zeros)]
	want := string(sum)
	copy(sum, zeros)
	h := sha256.New()
	h.Write(header)
	h.Write(data)
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("the file is damaged: its checksum is %s, want %q", got, want)
	}
	return nil
}

// finite returns an error for the first number that is NaN or infinite.
func finite(list []Tensor) error {
	for _, t := range list {
		for i, x := range t.F32 {
			if x-x != 0 { // NaN or infinite
				return fmt.Errorf("value %d of %s is %v", i, t.Name, x)
			}
		}
		for i, x := range t.F64 {
			if x-x != 0 {
				return fmt.Errorf("value %d of %s is %v", i, t.Name, x)
			}
		}
	}
	return nil
}

// Hash returns the SHA-256 of the names, shapes and values of tensors in hexadecimal.
func Hash(list []Tensor) string {
	h := sha256.New()
	for _, t := range list {
		fmt.Fprintf(h, "%s %v\n", t.Name, t.Shape)
		t.write(h) // a hash returns no error
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Save writes f with additional entries of Meta, each encoded as JSON.
func Save(w io.Writer, f *File, meta map[string]any) error {
	all := maps.Clone(f.Meta)
	if all == nil {
		all = map[string]string{}
	}
	for k, v := range meta {
		text, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("nn: save: %s: %w", k, err)
		}
		all[k] = string(text)
	}
	more := *f
	more.Meta = all
	if err := more.Write(w); err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	return nil
}

// StrictJSON is json.Unmarshal with an error for unknown fields.
func StrictJSON(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("text after the value")
	}
	return nil
}
