package flow

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// errExit is the error for runtime.Goexit in a stage. t.FailNow calls Goexit too.
var errExit = errors.New("the stage has ended its goroutine by runtime.Goexit")

// guard calls f, which is code of a stage, and returns its panic as an error. If f ends the goroutine,
// guard calls exit and cannot return. The caller then does its remaining work in deferred functions.
func guard(f func() error, exit func(error)) (err error) {
	returned := false
	faults := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(faults)
		if v := recover(); v != nil {
			err = &PanicError{Value: explain(v), line: panicLine(), Stack: debug.Stack()}
		} else if !returned {
			exit(errExit)
		}
	}()
	err = f()
	returned = true
	return err
}

// explain describes a fault at an address, which the runtime reports as a nil pointer.
func explain(v any) any {
	fault, ok := v.(interface {
		error
		Addr() uintptr
	})
	if !ok {
		return v
	}
	return fmt.Errorf("the stage uses memory of a record after its release, or of a mapped file that has become shorter (%w at %#x)", fault, fault.Addr())
}

// attend calls f on a new goroutine and waits for its end. So the caller continues even if code of a
// stage ends that goroutine.
func attend(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// PanicError is the error of a panic inside a stage.
type PanicError struct {
	Value any
	Stack []byte

	line   string // such as "operators/select.go:120"
	graphs string // the graphs of the record, if the failing graph is unknown
}

// Error is one line, like "panic: index out of range [5] with length 3
// (operators/select.go:120)".
func (e *PanicError) Error() string {
	text := "panic: " + strings.Join(strings.Fields(fmt.Sprint(e.Value)), " ")
	where := slices.DeleteFunc([]string{e.line, e.graphs}, func(s string) bool { return s == "" })
	if len(where) > 0 {
		text += " (" + strings.Join(where, ", ") + ")"
	}
	return text
}

// Unwrap returns the value of the panic where that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// panicLine returns the folder, file and line of a recovered panic: the first frame behind the frames
// of the runtime.
func panicLine() string {
	var pc [64]uintptr
	frames := runtime.CallersFrames(pc[:runtime.Callers(2, pc[:])])
	panicked := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			panicked = true
		case panicked && !strings.HasPrefix(f.Function, "runtime."):
			return fmt.Sprintf("%s:%d", path.Join(path.Base(path.Dir(f.File)), path.Base(f.File)), f.Line)
		}
		if !more {
			return ""
		}
	}
}
