// Package filetest fails and kills what writes files by way of package
// flow/file: a [Disk] is a directory of the real file system whose operations
// are counted, failed on request, and remembered, so that afterwards the
// directory can be had as a loss of power at any of them would leave it.
//
//	d := filetest.New(t, dir)
//	run(d) // writes to dir
//	for n := range d.Len() + 1 {
//		check(d.Crash(t, n, seed)) // a directory to open
//	}
package filetest
