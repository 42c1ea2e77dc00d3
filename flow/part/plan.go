package part

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/manifest"
)

// version is the version of the plans that this package writes and reads.
const version = 1

// MaxParts bounds the number of parts of a plan.
const MaxParts = 100_000

// maxJSON bounds the bytes of a plan or another side file that is read.
const maxJSON = 32 << 20

// Plan is the division of one piece of work. Two plans are the same if all fields are.
type Plan struct {
	// Version is set by [Job.Begin].
	Version int `json:"version"`
	// Recipe identifies what is computed: operators and settings, or the digest of a model. Plans of
	// two recipes are refused to share a bucket.
	Recipe string `json:"recipe"`
	// Input is a digest of the whole input.
	Input string `json:"input"`
	// Ext is the extension of the parts. The default is ".parquet".
	Ext   string  `json:"ext"`
	Parts []Input `json:"parts"`
}

// Input is a part of the input: a range of rows. A row is a graph, a row of a table, or a chunk of
// roots of a large graph.
type Input struct {
	From int64 `json:"from"` // first row
	To   int64 `json:"to"`   // row behind the last; 0: to the end
}

// Cut divides rows into n ranges whose lengths differ by one at most; into as many as there are
// rows, if that is fewer, and into one empty range if there are none.
func Cut(rows int64, n int) []Input {
	n = int(max(1, min(int64(n), rows)))
	parts := make([]Input, n)
	for i := range parts {
		parts[i] = Input{From: rows * int64(i) / int64(n), To: rows * int64(i+1) / int64(n)}
	}
	return parts
}

// name returns the file name of part i.
func (p *Plan) name(i int) string { return fmt.Sprintf("part-%05d%s", i, p.Ext) }

// done returns the name of the side file of part i.
func (p *Plan) done(i int) string { return fmt.Sprintf("_done-%05d.json", i) }

// Digest is the SHA-256 of the plan, in hexadecimal.
func (p *Plan) Digest() string {
	b, _ := json.Marshal(p)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (p *Plan) setDefaults() error {
	if p.Version == 0 {
		p.Version = version
	}
	if p.Ext == "" {
		p.Ext = ".parquet"
	}
	switch {
	case p.Version != version:
		return fmt.Errorf("the plan has version %d, and this program reads version %d", p.Version, version)
	case len(p.Parts) == 0 || len(p.Parts) > MaxParts:
		return fmt.Errorf("the plan has %d parts, want 1 to %d", len(p.Parts), MaxParts)
	case p.Recipe == "" || p.Input == "":
		return errors.New("the plan has no Recipe or no Input")
	}
	for i, in := range p.Parts {
		if in.From < 0 || in.To < 0 || in.To > 0 && in.To < in.From {
			return fmt.Errorf("part %d of the plan is rows %d to %d", i, in.From, in.To)
		}
	}
	return nil
}

// readPlan reads the plan of a bucket. Without a plan the error is fs.ErrNotExist.
func readPlan(ctx context.Context, b file.Bucket) (Plan, error) {
	var p Plan
	if err := getJSON(ctx, b, manifest.Plan, &p); err != nil {
		return p, err
	}
	if err := p.setDefaults(); err != nil {
		return p, fmt.Errorf("part: %s: %w", b, err)
	}
	return p, nil
}

// differs returns an error with the first difference from the plan of a bucket.
func (p *Plan) differs(there *Plan) error {
	switch {
	case p.Recipe != there.Recipe:
		return fmt.Errorf("the bucket has a plan of another recipe (%s; this run has %s): name another place, or remove it", there.Recipe, p.Recipe)
	case p.Input != there.Input:
		return fmt.Errorf("the input has changed since the plan was made (its digest was %.12s…, now %.12s…): name another place, or remove it", there.Input, p.Input)
	case len(p.Parts) != len(there.Parts):
		return fmt.Errorf("the bucket has a plan of %d parts, and this run has %d: set as many, or name another place", len(there.Parts), len(p.Parts))
	case p.Digest() != there.Digest():
		return errors.New("the bucket has a plan of other parts or another format: name another place, or remove it")
	}
	return nil
}

// getJSON decodes a file of at most maxJSON bytes. A file that is longer or no JSON is ErrDamaged.
func getJSON(ctx context.Context, b file.Bucket, name string, into any) error {
	o, err := b.Get(ctx, name)
	if err != nil {
		return err
	}
	defer o.Close()
	if o.Size() > maxJSON {
		return fmt.Errorf("part: %s: %w: %s has %d bytes, want at most %d", b, ErrDamaged, name, o.Size(), maxJSON)
	}
	text, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size()))
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("part: %s: %w: %s: %w", b, ErrDamaged, name, err)
	}
	return nil
}

// putJSON publishes a small file. While another run writes the file, putJSON waits: both write the same
// bytes.
func putJSON(ctx context.Context, b file.Bucket, name string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return retryHeld(ctx, func() error {
		return file.Put(ctx, b, name, func(w io.Writer) error {
			_, err := w.Write(append(text, '\n'))
			return err
		})
	})
}

// absent reports whether err is that of a missing file.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
