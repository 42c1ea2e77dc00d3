package main

import (
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

func init() { clitest.Command(main) }

func TestNumbers(t *testing.T) {
	clitest.Numbers(t, "-n 300", "-n 300 -graph preferential -out x", "-graph random -graphs -as edges -n 300 -out x", "-graph rmat -n 300 -out x.jsonl -as jsonl")
}
