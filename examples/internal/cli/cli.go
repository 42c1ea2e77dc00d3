// Package cli has the code that all examples share: an end by Ctrl-C, errors in one line, a progress
// bar, and files that are published whole or not at all.
//
//	func main() { cli.Main("fields", run) }
//
//	func run(ctx context.Context, args []string) error {
//		flags := cli.Flags("fields", "makes the receptive fields of a graph.")
//		k := flags.Int("k", 10, "nodes per field")
//		if err := cli.Parse(flags, args); err != nil {
//			return err
//		}
//		…
//	}
package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
)

// ErrInterrupted is the cause of the end of a context of Main after an interrupt.
var ErrInterrupted = errors.New("interrupted")

// Usage marks an error of the command line. The exit code is then 2.
func Usage(err error) error { return &usageError{err} }

type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// Main runs a command and exits: with status 0 without an error, 130 after an interrupt, 2 after an error
// of the command line, else 1. The error is one line on standard error.
func Main(name string, run func(ctx context.Context, args []string) error) {
	ctx, stop := withSignals(context.Background())
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case err == nil:
		return
	case errors.Is(err, flag.ErrHelp):
		if help := new(Help); errors.As(err, &help) {
			help.Print(os.Stdout, "")
		}
		return
	case errors.Is(context.Cause(ctx), ErrInterrupted) && (errors.Is(err, ErrInterrupted) || errors.Is(err, context.Canceled)):
		fmt.Fprintf(os.Stderr, "%s: interrupted\n", name)
		os.Exit(130)
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", name, oneLine(err))
	if usage := new(usageError); errors.As(err, &usage) {
		os.Exit(2)
	}
	os.Exit(1)
}

// withSignals returns a context that SIGINT or SIGTERM ends. A second signal kills the process.
func withSignals(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-c:
			cancel(ErrInterrupted)
		case <-ctx.Done():
		}
		signal.Stop(c)
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// List is the value of a flag that may occur several times.
type List []string

func (l *List) String() string { return strings.Join(*l, ",") }

// Set adds a value.
func (l *List) Set(text string) error {
	*l = append(*l, text)
	return nil
}

// ParseOnce is Parse for flags that may occur once. A flag that is no List and has two different values is
// an error.
func ParseOnce(f *flag.FlagSet, args []string) error {
	if err := Parse(f, args); err != nil {
		return err
	}
	given := map[string]string{}
	for ; len(args) > 0; args = args[1:] {
		name, value, has := strings.Cut(strings.TrimLeft(args[0], "-"), "=")
		one := f.Lookup(name)
		if one == nil { // the -- after the flags
			continue
		}
		alone, _ := one.Value.(interface{ IsBoolFlag() bool })
		if !has && (alone == nil || !alone.IsBoolFlag()) {
			args = args[1:]
			value = args[0]
		}
		before, ok := given[name]
		if _, list := one.Value.(*List); ok && before != value && !list {
			return Usage(fmt.Errorf("-%s is given twice, as %.80q and as %.80q, want it once", name, before, value))
		}
		given[name] = value
	}
	return nil
}

// Parse parses args, which are flags alone. The error of -h is a Help; other problems are Usage errors in one
// line.
func Parse(f *flag.FlagSet, args []string) error {
	err := ParseArgs(f, args)
	if err == nil && f.NArg() > 0 {
		return Usage(fmt.Errorf("unexpected argument %q (-h lists the flags)", f.Arg(0)))
	}
	return err
}

// ParseArgs is Parse for a command with arguments after its flags.
func ParseArgs(f *flag.FlagSet, args []string) error {
	f.SetOutput(io.Discard)
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return &Help{f}
	case err != nil:
		return Usage(fmt.Errorf("%s (-h lists the flags)", explain(f, err)))
	}
	return nil
}

// Given returns the names of the flags on the command line, ascending.
func Given(f *flag.FlagSet) (names []string) {
	f.Visit(func(one *flag.Flag) { names = append(names, one.Name) })
	return names
}

// explain returns the text of an error of a flag, with the type of value that the flag has.
func explain(f *flag.FlagSet, err error) string {
	if refused.MatchString(err.Error()) {
		return refused.ReplaceAllString(err.Error(), "$2 is $1, $3")
	}
	if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
		var names []string
		f.VisitAll(func(one *flag.Flag) { names = append(names, one.Name) })
		return err.Error() + Meant(name, "-", names)
	}
	text, bad := strings.CutSuffix(err.Error(), ": parse error")
	_, name, named := strings.Cut(text, " for flag -")
	if !bad || !named || f.Lookup(name) == nil {
		return err.Error()
	}
	value := f.Lookup(name).Value
	if r, ok := value.(*ranged); ok {
		value = r.Value
	}
	get, ok := value.(flag.Getter)
	if !ok {
		return err.Error()
	}
	switch get.Get().(type) {
	case time.Duration:
		return text + ": want a time such as 90s, 10m or 1h30m"
	case int, int64, uint, uint64:
		return text + ": want a whole number"
	case float64:
		return text + ": want a number"
	}
	return err.Error()
}

// Progress is a progress bar on standard error, if that is a terminal, else a line of it each lineEvery. Any
// goroutine may call its methods, also those of a nil Progress.
type Progress struct {
	what        string
	start       time.Time
	mu          sync.Mutex
	done, total int64
	bar         *progressbar.ProgressBar // nil if standard error is no terminal
	line        *time.Timer
	ended       bool
}

// lineEvery is the time between two lines of a Progress without a terminal. Tests set it.
var lineEvery = 30 * time.Second

// NewProgress starts a bar of total steps; -1 = unknown.
func NewProgress(what string, total int64) *Progress { return newProgress(what, total, false) }

// NewBytes starts a bar of bytes; 0 = unknown.
func NewBytes(what string, total int64) *Progress {
	if total <= 0 {
		total = -1
	}
	return newProgress(what, total, true)
}

func newProgress(what string, total int64, bytes bool) *Progress {
	p := &Progress{what: what, start: time.Now(), total: total}
	if !terminal(os.Stderr) {
		p.mu.Lock() // the timer may fire before it is set
		defer p.mu.Unlock()
		p.line = time.AfterFunc(lineEvery, p.print)
		return p
	}
	p.bar = progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionSetDescription(fmt.Sprintf("%-22s", what)),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetWidth(30),
		progressbar.OptionShowCount(),
		progressbar.OptionShowBytes(bytes),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetSpinnerChangeInterval(0), // else a goroutine draws, also behind Done
		progressbar.OptionClearOnFinish(),
	)
	return p
}

// print writes a line.
func (p *Progress) print() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	of := ""
	if p.total >= 0 {
		of = fmt.Sprintf(" of %d", p.total)
	}
	fmt.Fprintf(os.Stderr, "progress: %s: %d%s, %.0f s\n", p.what, p.done, of, time.Since(p.start).Seconds())
	p.line.Reset(lineEvery)
}

// change calls f, unless the bar has ended.
func (p *Progress) change(f func()) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		f()
	}
}

func terminal(f *os.File) bool {
	s, err := f.Stat()
	return err == nil && s.Mode()&os.ModeCharDevice != 0
}

// Add makes n steps.
func (p *Progress) Add(n int64) {
	p.change(func() {
		if p.done += n; p.bar != nil {
			_ = p.bar.Add64(n) // an error of drawing does not end the command
		}
	})
}

// Write implements io.Writer. It adds the number of bytes.
func (p *Progress) Write(b []byte) (int, error) {
	p.Add(int64(len(b)))
	return len(b), nil
}

// Total sets the number of steps.
func (p *Progress) Total(n int64) {
	p.change(func() {
		if p.total = n; p.bar != nil && n != p.bar.GetMax64() {
			p.bar.ChangeMax64(n)
		}
	})
}

// Set sets the number of finished steps.
func (p *Progress) Set(n int64) {
	p.change(func() {
		if p.done = n; p.bar != nil {
			_ = p.bar.Set64(n)
		}
	})
}

// Done removes the bar. Nothing is drawn afterwards.
func (p *Progress) Done() {
	p.change(func() {
		if p.ended = true; p.bar != nil {
			_ = p.bar.Clear()
		} else {
			p.line.Stop()
		}
	})
}

// Files are the files that a command writes, by their paths. A file has its name when it is complete. The
// path "" is that of no file.
type Files map[string]*Stream

// CreateAll begins files. A file that cannot be written is an error before the work.
func CreateAll(paths ...string) (Files, error) {
	files := Files{}
	for _, path := range paths {
		if path == "" {
			continue
		}
		f, err := CreateStream(path)
		if err != nil {
			files.Cleanup()
			return nil, err
		}
		files[path] = f
	}
	return files, nil
}

// Cleanup removes unfinished files.
func (f Files) Cleanup() {
	for _, one := range f {
		one.Cleanup()
	}
}

// JSON writes v with indentation and publishes the file.
func (f Files) JSON(path string, v any) error {
	return f.Finish(path, func() ([]byte, error) {
		b, err := json.MarshalIndent(v, "", "  ")
		return append(b, '\n'), err
	})
}

// Page calls write, such as page.Atlas.Write or sinks.Write, and publishes the file.
func (f Files) Page(path string, write func(io.Writer) error) error {
	return f.Finish(path, func() ([]byte, error) {
		var b bytes.Buffer
		err := write(&b)
		return b.Bytes(), err
	})
}

// Finish writes the content and publishes the file. content is not called where the file is not wanted.
func (f Files) Finish(path string, content func() ([]byte, error)) error {
	one := f[path]
	if one == nil {
		return nil
	}
	b, err := content()
	if err != nil {
		return err
	}
	if _, err := one.Write(b); err != nil {
		return err
	}
	return one.Finish()
}

// DataName is the name of data in a report: MUTAG for sets/MUTAG.zip, power for power.edges.gz.
func DataName(path string) string {
	name := filepath.Base(filepath.Clean(path))
	for _, end := range []string{".gz", ".zst", ".zip", ".txt", ".edges", ".csv", ".tsv", ".jsonl", ".parquet"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}
