package state

import (
	"io"
)

// Codec writes a state or reads one: a part of a program lists its numbers once, for both.
type Codec struct {
	w *writer
	r *reader
}

// Save writes a state of that name, of the numbers that do lists.
func Save(w io.Writer, name string, do func(*Codec)) error {
	c := &Codec{w: newWriter(w, name)}
	do(c)
	return c.w.close()
}

// Load reads what Save has written, and nothing behind it. What do has set is to be used
// only where the error is nil.
func Load(r io.Reader, name string, do func(*Codec)) error {
	c := &Codec{r: newReader(r, name)}
	do(c)
	return c.r.close()
}

// Loading reports whether c reads, and nothing has failed.
func (c *Codec) Loading() bool { return c.r != nil && c.r.err == nil }

// Fail makes the state fail, unless it has failed before.
func (c *Codec) Fail(format string, args ...any) {
	if c.r != nil {
		c.r.fail(format, args...)
	}
}

// Check fails where a state that is read does not hold.
func (c *Codec) Check(holds bool, format string, args ...any) {
	if c.Loading() && !holds {
		c.r.fail(format, args...)
	}
}

// Num is numbers.
func Num[T Number](c *Codec, x ...*T) {
	for _, x := range x {
		if c.w != nil {
			putNumbers(c.w, *x)
		} else {
			*x = getNumber[T](c.r)
		}
	}
}

// Int is a number from least to most.
func Int(c *Codec, what string, x *int, least, most int64) {
	n := int64(*x)
	Num(c, &n)
	if c.Check(n >= least && n <= most, "%s is %d, want %d to %d", what, n, least, most); c.Loading() {
		*x = int(n)
	}
}

// Fixed is the numbers of an array.
func Fixed[T Number](c *Codec, x []T) {
	if c.w != nil {
		putNumbers(c.w, x...)
	} else {
		get(c.r, x)
	}
}

// Slice is a slice of at most so many numbers; what says of what they are.
func Slice[T Number](c *Codec, what string, most int, x *[]T) {
	if c.w != nil {
		putSlice(c.w, *x)
	} else {
		*x = getSlice[T](c.r, what, most)
	}
}

// Text is a text of at most so many bytes.
func Text(c *Codec, what string, most int, x *string) {
	b := []byte(*x)
	Slice(c, what, most, &b)
	*x = string(b)
}

// Each is a slice of at most so many elements, each of which do lists. Memory grows with
// what there is to read.
func Each[T any](c *Codec, what string, most int, x *[]T, do func(*T)) {
	n := len(*x)
	Int(c, "the number of "+what, &n, 0, int64(most))
	if c.r != nil {
		*x = nil
	}
	for i := 0; i < n; i++ {
		if c.r != nil {
			if c.r.err != nil {
				return
			}
			var zero T
			*x = append(*x, zero)
		}
		do(&(*x)[i])
	}
}

const most = 1 << 16 // bytes of a piece of a section

// Section is what another Save writes, and Load reads, of any length.
func Section(c *Codec, save func(io.Writer) error, load func(io.Reader) error) {
	if c.w != nil {
		p := pieces{w: c.w}
		err := save(&p)
		if len(p.held) > 0 {
			putSlice(c.w, p.held)
		}
		putSlice[uint8](c.w, nil)
		if c.w.err == nil {
			c.w.err = err
		}
		return
	}
	s := &section{r: c.r}
	if c.r.err == nil {
		if err := load(s); err != nil && c.r.err == nil {
			c.r.err = err
		}
	}
	c.Check(s.done || s.next() == io.EOF, "a part is longer than what was read of it")
}

// pieces holds bytes back until there are enough for a piece, so that the pieces do not
// depend on how they were written.
type pieces struct {
	w    *writer
	held []byte
}

func (p *pieces) Write(b []byte) (int, error) {
	p.held = append(p.held, b...)
	p.flush()
	return len(b), p.w.err
}

func (p *pieces) flush() {
	at := 0
	for ; len(p.held)-at >= most; at += most {
		putSlice(p.w, p.held[at:at+most])
	}
	p.held = p.held[:copy(p.held, p.held[at:])]
}

type section struct {
	r    *reader
	left []byte
	done bool
}

// next reads the next piece.
func (s *section) next() error {
	if len(s.left) == 0 && !s.done {
		s.left = getSlice[uint8](s.r, "bytes of a piece", most)
		s.done = len(s.left) == 0
	}
	switch {
	case s.r.err != nil:
		return s.r.err
	case s.done:
		return io.EOF
	}
	return nil
}

func (s *section) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if err := s.next(); err != nil {
		return 0, err
	}
	n := copy(b, s.left)
	s.left = s.left[n:]
	return n, nil
}

// Same is a setting of the program, which has to be that of the state.
func Same[T Number](c *Codec, name string, x T) {
	was := x
	Num(c, &was)
	c.Check(was == x, "%s is %v, the state was made with %v", name, x, was)
}
