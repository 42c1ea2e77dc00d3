package nn

import (
	"fmt"
	"io"
	"os"

	"github.com/sanflow/sanflow/nn/internal/modelfile"
)

// loadModel reads a model of any type.
func loadModel(r io.Reader) (Model, error) { return modelfile.New[Model](r, "network") }

// loadFile reads one from a file.
func loadFile(name string) (Model, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("nn: load: %w", err)
	}
	defer f.Close()
	m, err := loadModel(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}
