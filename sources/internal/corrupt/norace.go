//go:build !race

package corrupt

const slow = false
