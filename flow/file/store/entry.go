package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// version is the format of the entries that encode writes. decode refuses other versions.
const version = 1

// entry is the JSON object of a file, after the checksum:
//
//	{
//	  "sha256": "…",     of all bytes behind this line break … up to the end
//	  "version": 1,
//	  …
//	}
type entry struct {
	Version int             `json:"version"`
	Name    string          `json:"name"`
	Run     string          `json:"run"` // the checksum of the settings
	Value   json.RawMessage `json:"value"`
}

const (
	begin = "{\n  \"sha256\": \""
	after = "\","
)

func checksum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// encode returns the bytes of the file.
func (e entry) encode() ([]byte, error) {
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return nil, err
	}
	rest := append(text[1:], '\n')
	return append([]byte(begin+checksum(rest)+after), rest...), nil
}

// decode is the inverse of encode. Bytes that encode does not return are an error.
func decode(b []byte) (e entry, err error) {
	rest, ok := bytes.CutPrefix(b, []byte(begin))
	if !ok || len(rest) < sha256.Size*2+len(after) {
		return e, errors.New("it does not begin as an entry does")
	}
	sum, rest := string(rest[:sha256.Size*2]), rest[sha256.Size*2:]
	if rest, ok = bytes.CutPrefix(rest, []byte(after)); !ok || sum != checksum(rest) {
		return e, errors.New("its checksum is not that of its content")
	}
	if err := json.Unmarshal(b, &e); err != nil {
		return e, err
	}
	if e.Version != version {
		return e, fmt.Errorf("version is %d, want %d", e.Version, version)
	}
	return e, nil
}
