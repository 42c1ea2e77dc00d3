// Package metamorphic holds a test: pipelines drawn at random, of real sources,
// operators and sinks, give the answer of plain loops over the same graphs, and
// give it again however the same pipeline is run: cut into other records, with
// other workers and buffers, through files of every kind in the middle, wired by
// go-streams instead of package flow, with rows that are refused on the way. A
// run that is cancelled, or whose source or sink fails, ends with that error, and
// what had arrived is the beginning of the answer. No run leaves a buffer or a
// goroutine.
//
//	go test ./sinks/metamorphic                          # some hundred seeds
//	SANFLOW_LONG=1h go test -race -timeout 0 ./sinks/metamorphic
//
// A seed that fails is made smaller and printed as a Go program.
package metamorphic
