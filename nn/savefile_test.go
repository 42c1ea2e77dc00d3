package nn

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type failing struct{ n int }

func (f failing) Save(w io.Writer) error {
	if _, err := w.Write(make([]byte, f.n)); err != nil {
		return err
	}
	return errors.New("failing: as it should")
}

func TestSaveFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "model.safetensors")
	m := smallCNN(t)
	if err := SaveFile(name, m); err != nil {
		t.Fatal(err)
	}
	// A file that cannot be finished leaves the old one, and nothing else.
	if err := SaveFile(name, failing{100000}); err == nil || err.Error() != "failing: as it should" {
		t.Errorf("a failing Save: %v", err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("files left: %v, %v", list, err)
	}
	again, err := loadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if again.(*CNN).Hash() != m.Hash() {
		t.Error("other weights")
	}
	if err := SaveFile(filepath.Join(dir, "none", "model"), m); err == nil || !strings.HasPrefix(err.Error(), "nn: save: ") {
		t.Errorf("a directory that is not there: %v", err)
	}
	if _, err := loadFile(filepath.Join(dir, "none")); err == nil || !strings.HasPrefix(err.Error(), "nn: load: ") {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.Truncate(name, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := loadFile(name); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("a truncated file: %v, want its name", err)
	}
}
