package manifest_test

import (
	"context"
	"encoding/json"
	"math/big"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/manifest"
)

// one is a bucket of one file, of that text.
type one struct {
	file.Bucket
	text string
}

type text struct{ *strings.Reader }

func (text) Close() error { return nil }

func (o one) Get(context.Context, string) (file.Object, error) {
	return text{strings.NewReader(o.text)}, nil
}

func (one) String() string { return "m" }

// Any text is a manifest that holds what its documentation says, and comes back
// when it is written, or an error in one line.
func FuzzReadFile(f *testing.F) {
	f.Add(`{"version":1,"schema":"x","rows":3,"bytes":70,"files":[{"name":"a","rows":1,"bytes":30},{"name":"b.x","rows":2,"bytes":40,"sha256":"00"}]}`)
	f.Add(`{"version":1,"files":[{"name":"/"},{"name":"a"}]}`)
	f.Add(`{"version":1,"rows":-2,"files":[{"name":"a","rows":9223372036854775807},{"name":"b","rows":9223372036854775807}]}`)
	f.Add(`{"version":1,"files":[{"name":"a"},{"name":"a"}]}`)
	f.Add(`{"version":1} {}`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := manifest.ReadBucket(t.Context(), one{text: text})
		if err != nil {
			if m != nil || strings.ContainsAny(err.Error(), "\r\n") || !strings.HasPrefix(err.Error(), "manifest: m/manifest.json: ") {
				t.Fatalf("%v, %q", m, err)
			}
			return
		}
		rows, bytes, names := new(big.Int), new(big.Int), map[string]bool{}
		for _, f := range m.Files {
			if f.Name == "" || f.Name[0] == '.' || strings.ContainsAny(f.Name, "/"+string(filepath.Separator)) || names[f.Name] || f.Rows < 0 || f.Bytes < 0 {
				t.Fatalf("%+v of %s", f, text)
			}
			names[f.Name] = true
			rows.Add(rows, big.NewInt(f.Rows))
			bytes.Add(bytes, big.NewInt(f.Bytes))
		}
		if rows.Cmp(big.NewInt(m.Rows)) != 0 || bytes.Cmp(big.NewInt(m.Bytes)) != 0 {
			t.Fatalf("%d rows and %d bytes, but the files of %s have %d and %d", m.Rows, m.Bytes, text, rows, bytes)
		}
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := manifest.ReadBucket(t.Context(), one{text: string(again)}); err != nil || !reflect.DeepEqual(back, m) {
			t.Fatalf("%s is %+v, %s is %+v, %v", text, m, again, back, err)
		}
	})
}
