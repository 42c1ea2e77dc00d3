// Package rescue turns panics on goroutines of our own into errors: nobody else
// could recover them, and the process would end.
package rescue

import "fmt"

// Do calls f and returns why it panicked, if it did. A graph from a damaged file,
// which nobody has checked, is the usual reason.
func Do(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v; graph.Graph.Check, or operators.Check, tells what is wrong with a graph", p)
		}
	}()
	f()
	return nil
}
