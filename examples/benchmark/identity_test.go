package main

import (
	"fmt"
	"strings"
	"testing"
)

// What decides a training is in its identity, and the seed is not.
func TestIdentity(t *testing.T) {
	seen := map[string]bool{}
	for _, j := range []training{
		{kind: "cnn"}, {kind: "cnn", epochs: 50}, {kind: "cnn", pretrain: "rbm"}, {kind: "gru"}, {kind: "pslr"},
		{kind: best}, {kind: best, whole: true}, {kind: bestAlone},
	} {
		seen[j.identity()] = true
		again := j
		again.seed, again.workers = 9, 3
		if j.identity() != again.identity() {
			t.Errorf("%q of another seed, %q", again.identity(), j.identity())
		}
	}
	if len(seen) != 8 {
		t.Errorf("%d identities of 8 trainings: %v", len(seen), seen)
	}
	said := training{kind: best, pretrain: "none", epochs: 50}.identity()
	for _, part := range []string{
		fmt.Sprintf("training %d, ", revision), "Width: 131072", "Heads: 10",
		"pretrained by none", "50 epochs", fmt.Sprintf("patience %d", heldPatience),
	} {
		if !strings.Contains(said, part) {
			t.Errorf("%q has no %q", said, part)
		}
	}
}
