package download

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The checksum of NAME.zip is in NAME.zip.sha256, in the format of sha256sum -c.

func writeSum(path string, sum []byte) error {
	line := hex.EncodeToString(sum) + "  " + filepath.Base(path) + "\n"
	return os.WriteFile(path+".sha256", []byte(line), 0o644)
}

// verify returns an error if the file is absent or differs from its stored checksum. A file without a stored
// checksum passes.
func verify(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	line, err := os.ReadFile(path + ".sha256")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	want, _, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("%s does not have the checksum it was stored with", path)
	}
	return nil
}
