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

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sanflow/sanflow/flow/file"
)

// Kind is the type of an operation.
type Kind string

// The operations that are counted. Those from Create on change the disk.
const (
	Open    Kind = "open"
	List    Kind = "list"
	Stat    Kind = "stat"
	Read    Kind = "read"
	Close   Kind = "close"
	Create  Kind = "create"
	Write   Kind = "write"
	Sync    Kind = "sync"
	Rename  Kind = "rename"
	Remove  Kind = "remove"
	Mkdir   Kind = "mkdir"
	SyncDir Kind = "syncdir"
)

// Op is one operation. Names are relative to the directory of the Disk.
type Op struct {
	Kind Kind
	Name string
	To   string // of a rename

	inode int    // the file that is created, written or synced
	data  []byte // of a write, which appends
}

// String is "rename a b".
func (o Op) String() string {
	s := string(o.Kind) + " " + o.Name
	if o.To != "" {
		s += " " + o.To
	}
	if o.Kind == Write {
		s += fmt.Sprintf(" %d bytes", len(o.data))
	}
	return s
}

// Disk is a directory whose operations fail on request. Names outside the directory panic. Several goroutines
// may use it. A sync is recorded and takes no time.
type Disk struct {
	// Fail, if set, is called before operation n, counted from 0, and returns the error of the operation. A
	// failed write has written the first half. A failed Close has closed.
	Fail func(n int, op Op) error

	root string
	mu   sync.Mutex
	n    int
	ops  []Op   // operations that changed the disk
	was  *state // the state at New
	file int    // the last inode
}

var _ file.FS = (*Disk)(nil)

// New returns a Disk for the directory root. The existing content counts as synced.
func New(t testing.TB, root string) *Disk {
	t.Helper()
	d := &Disk{root: root, was: newState()}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name := d.rel(path)
		if e.IsDir() {
			d.was.dirs[name] = map[string]int{}
			d.was.dirs[filepath.Dir(name)][filepath.Base(name)] = isDir
			return nil
		}
		b, err := os.ReadFile(path)
		d.file++
		d.was.files[d.file] = content{safe: b, now: b}
		d.was.dirs[filepath.Dir(name)][filepath.Base(name)] = d.file
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Count returns the number of operations of all kinds so far, as Fail counts them.
func (d *Disk) Count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.n
}

// Ops returns the operations so far that changed the disk, as Crash counts them.
func (d *Disk) Ops() []Op {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.ops)
}

// Len is the number of Ops.
func (d *Disk) Len() int { return len(d.Ops()) }

func (d *Disk) rel(path string) string {
	rel, err := filepath.Rel(d.root, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		panic("filetest: " + path + " is outside of " + d.root)
	}
	return rel
}

// do performs and records an operation, unless Fail returns an error.
func (d *Disk) do(op Op, perform func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.n
	d.n++
	if d.Fail != nil {
		if err := d.Fail(n, op); err != nil {
			return &fs.PathError{Op: string(op.Kind), Path: op.Name, Err: err}
		}
	}
	if err := perform(); err != nil {
		return err
	}
	if !slices.Contains([]Kind{Open, List, Stat, Read, Close}, op.Kind) {
		d.ops = append(d.ops, op)
	}
	return nil
}

// Open opens a file for reading.
func (d *Disk) Open(name string) (f file.File, err error) {
	err = d.do(Op{Kind: Open, Name: d.rel(name)}, func() error {
		f, err = file.Or(nil).Open(name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &handle{File: f, d: d}, nil
}

// Create opens an empty file, as the operating system does.
func (d *Disk) Create(name string) (f file.File, err error) {
	d.mu.Lock()
	d.file++
	inode := d.file
	d.mu.Unlock()
	err = d.do(Op{Kind: Create, Name: d.rel(name), inode: inode}, func() error {
		f, err = file.Or(nil).Create(name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &handle{f, d, inode}, nil
}

// Rename gives a file another name.
func (d *Disk) Rename(from, to string) error {
	return d.do(Op{Kind: Rename, Name: d.rel(from), To: d.rel(to)}, func() error { return os.Rename(from, to) })
}

// Remove removes a file or an empty directory.
func (d *Disk) Remove(name string) error {
	return d.do(Op{Kind: Remove, Name: d.rel(name)}, func() error { return os.Remove(name) })
}

// Mkdir makes a directory.
func (d *Disk) Mkdir(name string) error {
	return d.do(Op{Kind: Mkdir, Name: d.rel(name)}, func() error { return file.Or(nil).Mkdir(name) })
}

// SyncDir makes the names in a directory durable.
func (d *Disk) SyncDir(dir string) error {
	return d.do(Op{Kind: SyncDir, Name: d.rel(dir)}, func() error { return nil })
}

// List returns the names in a directory.
func (d *Disk) List(dir string) (entries []fs.DirEntry, err error) {
	err = d.do(Op{Kind: List, Name: d.rel(dir)}, func() error {
		entries, err = file.Or(nil).List(dir)
		return err
	})
	return entries, err
}

// Stat describes a file.
func (d *Disk) Stat(name string) (info fs.FileInfo, err error) {
	err = d.do(Op{Kind: Stat, Name: d.rel(name)}, func() error {
		info, err = file.Or(nil).Stat(name)
		return err
	})
	return info, err
}

// handle is an open file.
type handle struct {
	file.File
	d     *Disk
	inode int // 0 if it was opened for reading
}

func (h *handle) op(k Kind) Op { return Op{Kind: k, Name: h.d.rel(h.Name()), inode: h.inode} }

func (h *handle) Write(p []byte) (n int, err error) {
	op := h.op(Write)
	op.data = slices.Clone(p)
	err = h.d.do(op, func() error {
		n, err = h.File.Write(p)
		return err
	})
	if err != nil && n == 0 {
		half := op
		half.data = op.data[:len(p)/2]
		n, _ = h.File.Write(half.data)
		h.d.mu.Lock()
		h.d.ops = append(h.d.ops, half)
		h.d.mu.Unlock()
	}
	return n, err
}

func (h *handle) Read(p []byte) (n int, err error) {
	err = h.d.do(h.op(Read), func() error {
		n, err = h.File.Read(p)
		return err
	})
	return n, err
}

func (h *handle) ReadAt(p []byte, at int64) (n int, err error) {
	err = h.d.do(h.op(Read), func() error {
		n, err = h.File.ReadAt(p, at)
		return err
	})
	return n, err
}

func (h *handle) Sync() error { return h.d.do(h.op(Sync), func() error { return nil }) }

func (h *handle) Close() error {
	err := h.d.do(h.op(Close), h.File.Close)
	if err != nil {
		h.File.Close() // the real file, if Fail failed the Close
	}
	return err
}
