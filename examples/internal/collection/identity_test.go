package collection

import (
	"fmt"
	"strings"
	"testing"
)

// What decides a training is in its identity, and the seed is not.
func TestIdentity(t *testing.T) {
	seen := map[string]bool{}
	for _, j := range []Training{
		{Kind: "cnn"}, {Kind: "cnn", Epochs: 50}, {Kind: "cnn", Pretrain: "rbm"}, {Kind: "gru"}, {Kind: "pslr"},
		{Kind: Best}, {Kind: Best, Whole: true}, {Kind: BestAlone},
	} {
		seen[j.Identity()] = true
		again := j
		again.Seed, again.Workers = 9, 3
		if j.Identity() != again.Identity() {
			t.Errorf("%q of another seed, %q", again.Identity(), j.Identity())
		}
	}
	if len(seen) != 8 {
		t.Errorf("%d identities of 8 trainings: %v", len(seen), seen)
	}
	best := Training{Kind: Best, Pretrain: "none", Epochs: 50}.Identity()
	for _, part := range []string{
		fmt.Sprintf("training %d, ", Revision), "Width: 131072", "Heads: 10",
		"pretrained by none", "50 epochs", fmt.Sprintf("patience %d", HeldPatience),
	} {
		if !strings.Contains(best, part) {
			t.Errorf("%q has no %q", best, part)
		}
	}
}
