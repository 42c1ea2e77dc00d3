//go:build race

package corrupt

const slow = true
