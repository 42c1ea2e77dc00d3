package jet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/sanflow/sanflow/flow/file"
)

// pieceBytes is the size of the objects that a graph is stored in: larger ones fail
// now and then if there are replicas.
const pieceBytes = 16 << 20

// mostGraph bounds the list of the pieces.
const mostGraph = 1 << 20

// Pieces is the object that lists the pieces of a file.
type pieces struct {
	Bytes  int64    `json:"bytes"`
	Pieces []string `json:"pieces"` // their SHA-256, by which they are called
}

// HashFile returns the SHA-256 of a file.
func HashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// PutFile stores a file in pieces, under its SHA-256, which it returns. What is
// there already is not sent again.
func (c *Client) PutFile(ctx context.Context, bucket, path string) (string, error) {
	store, err := c.Objects(ctx, bucket, true)
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var list pieces
	whole := sha256.New()
	b := make([]byte, pieceBytes)
	for {
		n, err := io.ReadFull(f, b)
		if n > 0 {
			whole.Write(b[:n])
			sum := sha256.Sum256(b[:n])
			name := hex.EncodeToString(sum[:])
			if err := c.Put(ctx, store, name, b[:n]); err != nil {
				return "", err
			}
			list.Bytes, list.Pieces = list.Bytes+int64(n), append(list.Pieces, name)
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			break
		}
		if err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return "", err
	}
	name := hex.EncodeToString(whole.Sum(nil))
	return name, c.Put(ctx, store, name+".pieces", text)
}

// GetFile returns the path of the file with that SHA-256 in dir, which is fetched
// if it is not there. It appears whole and verified, and of several processes one
// fetches it while the others wait.
func (c *Client) GetFile(ctx context.Context, bucket, name, dir string) (string, error) {
	path := filepath.Join(dir, name+".arrow")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		out, err := file.Create(nil, path)
		if errors.Is(err, file.ErrHeld) {
			if !Sleep(ctx, 50*time.Millisecond) {
				return "", context.Cause(ctx)
			}
			continue
		}
		if err != nil {
			return "", err
		}
		err = c.fetchFile(ctx, bucket, name, out)
		if err == nil {
			err = out.Publish()
		}
		if bad := out.Discard(); err == nil {
			err = bad
		}
		if err != nil {
			return "", fmt.Errorf("graph %.16s…: %w", name, err)
		}
		return path, nil
	}
}

func (c *Client) fetchFile(ctx context.Context, bucket, name string, out io.Writer) error {
	store, err := c.Objects(ctx, bucket, false)
	if err != nil {
		return err
	}
	text, err := c.Object(ctx, store, name+".pieces", mostGraph)
	if err != nil {
		return err
	}
	var list pieces
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	whole := sha256.New()
	for _, p := range list.Pieces {
		b, err := c.Object(ctx, store, p, pieceBytes)
		if err != nil {
			return err
		}
		whole.Write(b)
		if _, err := out.Write(b); err != nil {
			return err
		}
	}
	if got := hex.EncodeToString(whole.Sum(nil)); got != name {
		return fmt.Errorf("it is damaged: its SHA-256 is %s", got)
	}
	return nil
}
