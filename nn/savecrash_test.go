package nn

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sanflow/sanflow/internal/filetest"
)

// Every operation of saving a model over another fails once, and the machine dies
// at each: the file is that of the one or of the other, and the next can be saved.
func TestSaveFileCrash(t *testing.T) {
	was, now := smallCNN(t), smallCNN(t)
	was.info, now.info = map[string]string{"of": "was"}, map[string]string{"of": "now"}
	filetest.Torture(t, func(dir string) {
		if err := SaveFile(filepath.Join(dir, "model"), was); err != nil {
			t.Fatal(err)
		}
	}, func(d *filetest.Disk, dir string) error {
		return saveFileOn(d, filepath.Join(dir, "model"), now)
	}, func(t *testing.T, o filetest.Outcome) {
		name := filepath.Join(o.Dir, "model")
		m, err := loadFile(name)
		if err != nil {
			t.Fatalf("%s: %v", o.What, err)
		}
		if of := MetadataOf(m)["of"]; of != "now" && (o.Done || of != "was") {
			t.Errorf("%s: the model is %q", o.What, of)
		}
		err = saveFileOn(filetest.New(t, o.Dir), name, was)
		left, listed := os.ReadDir(o.Dir)
		if err := errors.Join(err, listed); err != nil || len(left) != 1 {
			t.Errorf("%s: the next: %v; %v is left", o.What, err, left)
		}
	})
}
