package main

import (
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

func init() { clitest.Command(main) }

func TestNumbers(t *testing.T) {
	clitest.Numbers(t, "-n 300", "-n 300 -graph preferential -out x.jsonl", "-graph rmat")
}
