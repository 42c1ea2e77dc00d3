package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStream(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	for _, finish := range []bool{false, true} {
		s, err := CreateStream(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(s, "content"); err != nil {
			t.Fatal(err)
		}
		if at, err := s.Seek(0, io.SeekCurrent); at != 7 || err != nil {
			t.Errorf("at %d, want 7; %v", at, err)
		}
		if _, err := s.Seek(0, io.SeekStart); err == nil {
			t.Error("it went back")
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("the file has its name too early")
		}
		if finish {
			if err := s.Finish(); err != nil {
				t.Fatal(err)
			}
		}
		s.Cleanup()
		if left, _ := os.ReadDir(dir); len(left) > 1 || len(left) == 1 != finish {
			t.Errorf("finished %t: %v is there", finish, left)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "content" {
		t.Errorf("%q, %v", b, err)
	}
}

// A device is written to, and stays a device.
func TestStreamDevice(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("needs /dev/full")
	}
	s, err := CreateStream("/dev/full")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Cleanup()
	_, _ = io.WriteString(s, "x") // into the buffer
	if err := s.Finish(); err == nil || !strings.Contains(err.Error(), "cannot write /dev/full: no space left") {
		t.Errorf("%v", err)
	}
	files, err := CreateAll("/dev/full")
	if err != nil {
		t.Fatal(err)
	}
	defer files.Cleanup()
	if err := files.JSON("/dev/full", "x"); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("%v", err)
	}
	if info, err := os.Stat("/dev/full"); err != nil || info.Mode()&os.ModeDevice == 0 {
		t.Errorf("/dev/full is %v now", info.Mode())
	}
	if special("/dev/shm/file-to-be") {
		t.Error("a new file below /dev is no device")
	}
}
