package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

// same runs a cluster whose processes may be killed, and one process, and wants the same model from
// both.
func same(t *testing.T, job []string, cluster ...string) *figures {
	t.Helper()
	alone := clitest.JSON[report](t, run, append([]string{"-workers", "0"}, job...)...)
	many := clitest.JSON[figures](t, kill, append(cluster, job...)...)
	wantSame(t, &alone, &many.report)
	return &many
}

func wantSame(t *testing.T, alone, many *report) {
	t.Helper()
	if many.ModelSHA256 != alone.ModelSHA256 || many.Trained != alone.Trained || many.Fields != alone.Fields || many.Lost != 0 || many.Duplicates != 0 {
		t.Errorf("many: %+v\nalone: %+v", many, alone)
	}
	if alone.Trained == 0 || alone.Lost != 0 || alone.Duplicates != 0 || len(alone.ModelSHA256) != 64 {
		t.Errorf("alone: %+v", alone)
	}
}

// The model of a cluster is that of one process, with a broker of one server and of three, and when
// its processes are killed.
func TestSameModel(t *testing.T) {
	job := []string{"-epochs", "3"}
	alone := clitest.JSON[report](t, run, append([]string{"-workers", "0"}, job...)...)
	for _, brokers := range []int{1, 3} {
		r := clitest.JSON[report](t, run, append([]string{"-workers", "2", "-brokers", strconv.Itoa(brokers)}, job...)...)
		wantSame(t, &alone, &r)
		if r.Workers != 2 || r.Brokers != brokers || r.Sent != 960 || r.Expected != alone.Trained || r.CPU["work"] <= 0 || r.CPU["broker"] <= 0 {
			t.Errorf("%+v", r)
		}
	}
	if r := same(t, job, "-workers", "2", "-kill", "300ms"); r.Workers != 2 || r.Brokers != 1 {
		t.Errorf("%+v", r)
	}
}

// So is that of a cluster whose broker deletes what was learned.
func TestSameModelBounded(t *testing.T) {
	same(t, []string{"-epochs", "1", "-bound", "1"}, "-workers", "2", "-kill", "400ms")
}

// So it is of a large graph, most of whose chunks do not begin where a batch does, and with
// hundred kills.
func TestHundredKillsBounded(t *testing.T) {
	if os.Getenv("SANFLOW_LONG") == "" {
		t.Skip("takes minutes; set SANFLOW_LONG")
	}
	for _, workers := range []string{"2", "4", "1"} {
		r := same(t, []string{"-graph", "rmat", "-n", "4096", "-repeat", "80", "-seed", "4", "-epochs", "1", "-bound", "1"}, "-workers", workers, "-brokers", "3", "-kill", "100ms")
		t.Logf("%s workers: %d kills, %d messages seen again, %.0f s", workers, r.Kills, r.Redelivered, r.Seconds)
	}
}

// So is that of one large graph, which workers fetch, or map where it is.
func TestSameModelOfGraph(t *testing.T) {
	r := same(t, []string{"-graph", "preferential", "-n", "700", "-k", "5", "-epochs", "2", "-repeat", "2"}, "-workers", "1", "-compare")
	for _, role := range []string{"feed", "work", "train", roleBroker, roleAlone, roleFields} {
		if r.CPU[role] <= 0 || r.PerField[role] <= 0 {
			t.Errorf("%s has no processor time: %+v", role, r)
		}
	}
	if r.Fields != 1400 || r.WorkerOverFields <= 0 || r.WorkerOverAlone <= 0 || r.AllOverAlone <= 0 || r.AllOverAlone >= r.WorkerOverAlone {
		t.Errorf("%+v", r)
	}
}

// A directory may have been used for another graph before.
func TestPrepareOtherGraph(t *testing.T) {
	dir := t.TempDir()
	prepare := func(n string) string {
		c := &config{}
		if err := c.parse(c.flags(), []string{"-graph", "torus", "-n", n, "-dir", dir}); err != nil {
			t.Fatal(err)
		}
		path, err := c.prepare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	first, other, again := prepare("100"), prepare("64"), prepare("100")
	if first == other || first != again {
		t.Errorf("graphs are %s, %s and %s, want the first and the last alike", first, other, again)
	}
}

// A hundred kills in one run, of leading brokers too. As a command:
//
//	cluster -workers 2 -brokers 3 -kill 80ms -seed 3 -graph rmat -n 262144 -repeat 4 -epochs 40
func TestHundredKills(t *testing.T) {
	if os.Getenv("SANFLOW_LONG") == "" {
		t.Skip("takes minutes; set SANFLOW_LONG")
	}
	for _, workers := range []string{"2", "4", "1"} {
		for epochs := 40; ; epochs *= 2 {
			r := same(t, []string{"-graph", "rmat", "-n", "262144", "-repeat", "4", "-seed", "3", "-epochs", strconv.Itoa(epochs)}, "-workers", workers, "-brokers", "3", "-kill", "80ms")
			t.Logf("%s workers, %d epochs: %d kills, %d messages seen again, %.0f s", workers, epochs, r.Kills, r.Redelivered, r.Seconds)
			if r.Kills >= 100 || t.Failed() {
				break
			}
		}
	}
}

// Ports that others took are left to them.
func TestPortTaken(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, asked := &config{brokers: 3, dir: t.TempDir()}, 0
	c.freePorts = func(n int) ([]int, error) {
		ports, err := freePorts(n)
		if asked++; asked == 1 && err == nil {
			ports[0] = l.Addr().(*net.TCPAddr).Port
		}
		return ports, err
	}
	stop, err := c.startBrokers(t.Context())
	if err != nil || asked != 2 {
		t.Fatalf("asked %d times for ports: %v", asked, err)
	}
	stop()
}

func TestFlags(t *testing.T) {
	clitest.Silence(t)
	for _, args := range [][]string{
		{"-data", "a", "-graph", "torus"}, {"-brokers", "2"}, {"-role", "cook", "-url", "x"}, {"-role", "feed"}, {"-url", "nats://x"}, {"-kill", "1s"}, {"-role", "fields"}, {"-repeat", "0"}, {"-bound", "1"}, {"-bound", "-1", "-epochs", "1"},
		{"-url", "foo", "-role", "feed"}, {"-url", "nats://", "-role", "feed"}, {"-url", "http://a:1", "-role", "feed"}, {"-name", "a b.c"}, {"-name", ""},
		{"-w", "5", "-graph", "torus"}, {"-n", "100"}, {"-n", "100", "-graph", "a.edges"},
		{"-k", "0"}, {"-workers", "-1"}, {"-graph", "-"}, {"-epochs", "0"},
	} {
		if err := run(context.Background(), args); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
	for _, args := range [][]string{{"-kill", "1s", "-workers", "0"}, {"-compare", "-workers", "0"}, {"-kill", "-1s"}, {"-role", "feed", "-url", "nats://x"}} {
		if err := kill(context.Background(), args); err == nil {
			t.Errorf("%q is accepted by the test command", args)
		}
	}
}

// A directory goes on with its own run, and refuses to pass its model off as that of
// another.
func TestDirOfAnotherRun(t *testing.T) {
	dir := t.TempDir()
	job := []string{"-workers", "0", "-graph", "torus", "-n", "64", "-k", "4", "-dir", dir}
	first := clitest.JSON[report](t, run, job...)
	again := clitest.JSON[report](t, run, job...)
	if again.ModelSHA256 != first.ModelSHA256 || again.FieldsPerS != 0 {
		t.Errorf("a run that was complete is %+v, and then %+v", first, again)
	}
	clitest.Silence(t)
	for flag, value := range map[string]string{"-k": "5", "-seed": "2", "-n": "81", "-epochs": "1", "-repeat": "2"} {
		err := run(t.Context(), append(job, flag, value))
		if err == nil || !strings.Contains(err.Error(), flag+" is "+value) {
			t.Errorf("%s %s: %v, want the flag", flag, value, err)
		}
	}
}

// If no broker is yet a role waits, and stops when it is told to.
func TestNoBroker(t *testing.T) {
	clitest.Silence(t)
	ports, err := freePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, stop)
	if err := run(ctx, []string{"-role", "feed", "-url", fmt.Sprintf("127.0.0.1:%d", ports[0])}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was stopped", err)
	}
}

// command starts this command as a process of its own, and kills it at the end of the test.
func command(t *testing.T, stderr io.Writer, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), asCommand+"=1"), stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// A second run in the directory of one that is under way is refused before it starts a broker on the
// store of the first. The files of a killed run block no other run.
func TestDirHeld(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	job := []string{"-graph", "torus", "-n", "64", "-k", "4", "-workers", "1", "-epochs", "1", "-dir", dir}
	first := command(t, nil, append(job, "-repeat", "100000")...)
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "broker-0", "jetstream")); err == nil {
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatal("there is no broker")
		}
	}
	want := "-dir: cannot write " + dir + ": another run is writing it"
	for _, args := range [][]string{{"-repeat", "100000"}, {"-workers", "0"}, {"-url", "127.0.0.1:1", "-role", "train"}} {
		if err := run(t.Context(), append(job, args...)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want that %s", args, err, want)
		}
	}
	_ = first.Process.Kill()
	_ = first.Wait()
	if err := run(t.Context(), append(job, "-workers", "0", "-repeat", "1")); err == nil || !strings.Contains(err.Error(), "-repeat is 1") {
		t.Errorf("after it was killed: %v, want that it was another job", err)
	}
}

// A trainer whose broker takes the connection and says nothing says so within seconds, with the
// address, and tries on.
func TestSilentBroker(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	lines, stderr := io.Pipe()
	defer lines.Close()
	command(t, stderr, "-url", "nats://"+l.Addr().String(), "-role", "train")
	time.AfterFunc(30*time.Second, func() { stderr.Close() })
	if line, err := bufio.NewReader(lines).ReadString('\n'); err != nil || !strings.Contains(line, l.Addr().String()) {
		t.Errorf("%q, %v, want a line with %s", line, err, l.Addr())
	}
}

// A broker whose disk is full ends the run within seconds, with the broker's code and what to do.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := filepath.Join(dir, "broker-0")
	if err := os.Mkdir(store, 0o777); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", store).CombinedOutput(); err != nil {
		t.Skipf("a small disk cannot be mounted: %v: %s", err, text)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", store).Run() })
	var text bytes.Buffer
	cmd := command(t, &text, "-workers", "2", "-repeat", "40", "-dir", dir)
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	late.Stop()
	if err == nil || !strings.Contains(text.String(), "err_code=10023") || !strings.Contains(text.String(), "-bound") {
		t.Errorf("%v: %s, want the broker's code and what to do", err, &text)
	}
}

// What cannot be read is found before there is a broker.
func TestNoData(t *testing.T) {
	clitest.Silence(t)
	there := filepath.Join(t.TempDir(), "not", "there")
	for _, args := range [][]string{{"-data", there + ".zip"}, {"-graph", there + ".edges"}} {
		for _, as := range [][]string{{"-workers", "1"}, {"-role", "feed", "-url", "127.0.0.1:1"}} { // no server there
			dir := t.TempDir()
			err := run(t.Context(), slices.Concat(args, as, []string{"-dir", dir}))
			if err == nil || !strings.Contains(err.Error(), there) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q %q: %v, want the path", args, as, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "broker-0")); err == nil {
				t.Errorf("%q: a broker was started", args)
			}
		}
	}
}

// Errors name flags that there are.
func TestGraphOfNoFormat(t *testing.T) {
	clitest.Silence(t)
	if err := run(t.Context(), []string{"-graph", "nope"}); err == nil || strings.Contains(err.Error(), "-format") || !strings.Contains(err.Error(), "-graph is") {
		t.Error(err)
	}
}
