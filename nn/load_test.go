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

// into reads a model of the type of m into it.
func into[M any](m *M, r io.Reader) error {
	got, err := modelfile.New[*M](r, fmt.Sprintf("%T", m))
	if err == nil {
		*m = *got
	}
	return err
}
