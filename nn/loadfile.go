package nn

import (
	"bufio"
	"fmt"
	"os"
)

// LoadFile reads a model of any type that Save or SaveFile wrote.
func LoadFile(name string) (Model, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("nn: load: %w", err)
	}
	defer f.Close()
	m, err := Load(bufio.NewReader(f))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}
