// Package file writes files atomically: after a kill, a full disk or a loss of power, a file has
// its old or its new content.
//
//	f, err := file.Create(nil, "model.safetensors")
//	if err != nil {
//		return err // no place to write to, or another run writes it
//	}
//	defer f.Discard()
//	if err := net.Save(f); err != nil {
//		return err
//	}
//	return f.Publish()
//
// All code writes files through an [FS]: the operating system, or package filetest in a test.
//
// # What is promised
//
// A name of which [Pending.Publish] has returned nil has the new content, also
// after a loss of power, and one of which it has not returned has the old or
// the new. Only one run at a time writes a name: the others get [ErrHeld]. What
// a run that was killed leaves is called .unfinished-NAME, and the next one that
// writes NAME takes its place.
//
// On Windows a directory cannot be brought to disk, and a file cannot be renamed
// while it is open: there a loss of power may undo a Publish that has returned
// nil, and two runs that end at the same moment may both fail. Files are whole
// there too.
package file
