// Package filetest tests writers of package flow/file with failures and crashes. A [Disk] is a
// directory of the real file system that counts its operations, fails them on request and records
// them. The state after a loss of power at any operation can be restored.
//
//	d := filetest.New(t, dir)
//	run(d) // writes to dir
//	for n := range d.Len() + 1 {
//		check(d.Crash(t, n, seed)) // a directory to open
//	}
package filetest
