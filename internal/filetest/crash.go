package filetest

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// isDir is the inode of a directory.
const isDir = -1

// content is the synced and the current content of a file.
type content struct{ safe, now []byte }

// state is the content of a disk. Directories refer to files by inode, so that a file keeps its content under
// any name.
type state struct {
	files map[int]content
	dirs  map[string]map[string]int
}

func newState() *state {
	return &state{map[int]content{}, map[string]map[string]int{".": {}}}
}

func (s *state) clone() *state {
	c := &state{maps.Clone(s.files), map[string]map[string]int{}}
	for dir, names := range s.dirs {
		c.dirs[dir] = maps.Clone(names)
	}
	return c
}

// name applies a change of names in a directory.
func (s *state) name(op Op) {
	dir, base := filepath.Split(op.Name)
	names := s.dirs[filepath.Clean(dir)]
	if names == nil {
		return // the directory was lost
	}
	switch op.Kind {
	case Create:
		names[base] = op.inode
	case Mkdir:
		names[base] = isDir
		if s.dirs[op.Name] == nil {
			s.dirs[op.Name] = map[string]int{}
		}
	case Remove:
		delete(names, base)
		delete(s.dirs, op.Name)
	case Rename:
		names[filepath.Base(op.To)] = op.inode
		if names[base] == op.inode {
			delete(names, base)
		}
	}
}

// Loss is how much unsynced data a crash loses.
type Loss int

// None is the loss of a killed process. A loss of power loses All unsynced data, or Some of it: the last
// bytes of a file, or blocks, which are then zeros, and changes of names.
const (
	None Loss = iota
	All
	Some
)

// Crash returns a new directory in the state after a crash behind the first n Ops. With Some, seed selects
// the lost data.
func (d *Disk) Crash(t testing.TB, n int, loss Loss, seed uint64) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	now, safe := d.was.clone(), d.was.clone()
	var names []Op // changes of names without a sync, in order
	for _, op := range d.Ops()[:n] {
		switch op.Kind {
		case Create:
			// An existing file is emptied. Here it becomes another inode.
			now.files[op.inode] = content{}
		case Write:
			c := now.files[op.inode]
			c.now = slices.Concat(c.now, op.data)
			now.files[op.inode] = c
		case Sync:
			c := now.files[op.inode]
			c.safe = c.now
			now.files[op.inode] = c
		case SyncDir:
			names = slices.DeleteFunc(names, func(change Op) bool {
				if filepath.Dir(change.Name) != op.Name {
					return false
				}
				safe.name(change)
				return true
			})
		}
		switch op.Kind {
		case Rename:
			op.inode = now.dirs[filepath.Dir(op.Name)][filepath.Base(op.Name)]
			fallthrough
		case Create, Mkdir, Remove:
			now.name(op)
			names = append(names, op)
		}
	}
	lasts := lastsOf(loss, len(names), rng)
	for i, op := range names {
		if lasts(i) {
			safe.name(op)
		}
	}
	for inode, c := range now.files {
		safe.files[inode] = content{now: c.after(loss, rng)}
	}
	to := t.TempDir()
	if err := safe.write(to, "."); err != nil {
		t.Fatal(err)
	}
	return to
}

// lastsOf returns which of n changes survive without a sync.
func lastsOf(loss Loss, n int, rng *rand.Rand) func(i int) bool {
	switch {
	case loss == None:
		return func(int) bool { return true }
	case loss == All:
		return func(int) bool { return false }
	case rng.IntN(2) == 0: // a file system with a journal keeps the first changes
		first := rng.IntN(n + 1)
		return func(i int) bool { return i < first }
	}
	return func(int) bool { return rng.IntN(2) == 0 }
}

// after returns the content after a crash.
func (c content) after(loss Loss, rng *rand.Rand) []byte {
	switch loss {
	case None:
		return c.now
	case All:
		return c.safe
	}
	// Bytes that were not synced are lost from a random point on, and blocks before it may be zeros.
	const block = 64
	b := slices.Clone(c.now[:len(c.safe)+rng.IntN(len(c.now)-len(c.safe)+1)])
	for part := range slices.Chunk(b[len(c.safe):], block) {
		if rng.IntN(3) == 0 {
			clear(part)
		}
	}
	return b
}

// write writes the state to a directory of the real file system.
func (s *state) write(to, dir string) error {
	for _, base := range slices.Sorted(maps.Keys(s.dirs[dir])) {
		name := filepath.Join(dir, base)
		path := filepath.Join(to, name)
		if inode := s.dirs[dir][base]; inode != isDir {
			if err := os.WriteFile(path, s.files[inode].now, 0o600); err != nil {
				return err
			}
			continue
		}
		if err := os.Mkdir(path, 0o700); err != nil {
			return err
		}
		if err := s.write(to, name); err != nil {
			return err
		}
	}
	return nil
}
