package leak

import (
	"testing"
	"time"
)

// A goroutine that takes longer than goleak would wait is none that stays.
func TestSlowEnd(t *testing.T) {
	before := IgnoreCurrent()
	go time.Sleep(2 * time.Second)
	if err := Find(before); err != nil {
		t.Error(err)
	}
}

// What runs already is left out.
func TestIgnoreCurrent(t *testing.T) {
	stop, started := make(chan struct{}), make(chan struct{})
	go func() {
		close(started)
		<-stop
	}()
	<-started
	VerifyNone(t, IgnoreCurrent())
	close(stop)
	VerifyNone(t)
}
