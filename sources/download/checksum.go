package download

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sanflow/sanflow/flow/manifest"
)

// The checksum of NAME.zip is in NAME.zip.sha256, in the format of sha256sum -c.

func writeSum(path string, sum []byte) error {
	line := hex.EncodeToString(sum) + "  " + filepath.Base(path) + "\n"
	return os.WriteFile(path+".sha256", []byte(line), 0o644)
}

// verify returns an error if the file is absent or differs from its stored checksum. A file without a stored
// checksum passes.
func verify(path string) error {
	got, err := manifest.Sum(path)
	if err != nil {
		return err
	}
	line, err := os.ReadFile(path + ".sha256")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if want, _, _ := strings.Cut(strings.TrimSpace(string(line)), " "); got != want {
		return fmt.Errorf("%s does not have the checksum it was stored with", path)
	}
	return nil
}
