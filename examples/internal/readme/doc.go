// Package readme holds the programs and the snippets of the README, which its
// tests compile, compare and run.
package readme
