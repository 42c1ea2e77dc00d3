package sources

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"
)

// tree reads a value as package encoding/json does.
func tree(s *jsonScan) (v any, err error) {
	s.space()
	if s.p < len(s.b) && s.b[s.p] == '{' {
		m := map[string]any{}
		err := s.object(func(key []byte) error {
			name := string(key)
			v, err := tree(s)
			m[name] = v
			return err
		})
		return m, err
	}
	if s.p < len(s.b) && s.b[s.p] == '[' {
		list := []any{}
		err := s.array(func() error {
			v, err := tree(s)
			list = append(list, v)
			return err
		})
		return list, err
	}
	kind, text, escaped, err := s.value(0)
	switch {
	case err != nil || kind == jsonNull:
		return nil, err
	case kind == jsonBool:
		return string(text) == "true", nil
	case kind == jsonNumber:
		return json.Number(text), nil
	}
	if escaped {
		text = append([]byte{}, text...)
		text = text[:unescape(text)]
	}
	return string(text), nil
}

// FuzzJSONScan: package encoding/json reads the same.
func FuzzJSONScan(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0.5e+3,true,null,"x\u00e9\ud83d\ude00\ud83d\n"],"b":{}}`, `[01]`, `"\ud800\u0041"`, `{"a":1,}`, ` [ ] `, `-`, `1.`, `"\x"`, "\"\t\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := &jsonScan{b: text}
		got, err := tree(s)
		if s.space(); err == nil && s.p < len(s.b) {
			err = errJSON
		}
		// tree calls itself for values that jsonScan.value bounds in depth.
		if valid := json.Valid(text) && utf8.Valid(text); valid != (err == nil) {
			t.Fatalf("%q: %v, want valid %t", text, err, valid)
		}
		if err != nil {
			return
		}
		s = &jsonScan{b: text}
		if _, _, _, err := s.value(0); err != nil && len(text) < 100 {
			t.Fatal(err)
		}
		var want any
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %#v, want %#v", text, got, want)
		}
	})
}
