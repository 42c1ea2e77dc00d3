package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/examples/sanflow/command"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// silently calls f without its standard output.
func silently(t *testing.T, f func() error) error {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	out := os.Stdout
	os.Stdout = null
	defer func() { os.Stdout = out }()
	return f()
}

// ran runs a command line silently.
func ran(t *testing.T, line string) {
	t.Helper()
	if err := silently(t, func() error { return command.Run(t.Context(), strings.Fields(line)) }); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
}

// Fields of a graph in a bucket have the bytes of those of the file, in a directory and in a bucket, at once and in
// parts; what a bucket has is read again.
func TestBuckets(t *testing.T) {
	t.Cleanup(func() {
		if err := sources.RemoveCopies(); err != nil {
			t.Error(err)
		}
	})
	dir := t.TempDir()
	var edges strings.Builder
	for v := range 60 {
		fmt.Fprintf(&edges, "%d %d\n%d %d\n", v, (v+1)%60, v, (v*7+3)%60)
	}
	list := filepath.Join(dir, "in", "list.edges")
	if err := os.MkdirAll(filepath.Dir(list), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(list, []byte(edges.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	local := filepath.Join(dir, "local")
	ran(t, "export -graph "+list+" -k 4 -out "+local)
	want, err := os.ReadFile(filepath.Join(local, "part-00000.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	url := "file://" + filepath.ToSlash(dir)
	for _, out := range []string{url + "/far?create_dir=true", "mem://far/fields"} {
		ran(t, "export -graph "+url+"/in/list.edges -k 4 -out "+out)
		b, err := sources.OpenBucket(t.Context(), out)
		if err != nil {
			t.Fatal(err)
		}
		o, err := b.Get(t.Context(), "part-00000.parquet")
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, o.Size())
		if _, err := o.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v, want the %d of a directory", out, len(got), err, len(want))
		}
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
	}
	parts := "mem://far/parts"
	ran(t, "export -graph "+list+" -k 4 -chunk 16 -parts 3 -out "+parts)
	ran(t, "export -verify -out "+parts)
	var rows sinks.Collect
	defer rows.Release()
	src, err := sources.Open(t.Context(), parts, sources.Options{})
	if err == nil {
		err = flow.From(src).To(&rows).Run(t.Context())
	}
	n := int64(0)
	for _, rec := range rows.Records() {
		n += rec.NumRows()
	}
	if err != nil || n != 60 {
		t.Errorf("%d rows of parts, %v, want 60", n, err)
	}
	line := []string{"export", "-graph", list, "-k", "4", "-out", "mem://far/fields.jsonl"}
	if err := command.Run(t.Context(), line); err == nil || !strings.Contains(err.Error(), "-as jsonl writes a file on this machine: to a URL want -as parquet or arrow") {
		t.Errorf("lines in a bucket: %v", err)
	}
	if _, err := sources.Open(t.Context(), url+"/in/none.edges", sources.Options{}); err == nil || !strings.Contains(err.Error(), "none.edges") {
		t.Errorf("an object that is not there: %v", err)
	}
	if err := command.Run(t.Context(), []string{"export", "-out", "ftp://host/fields"}); err == nil || !strings.Contains(err.Error(), "no linked package opens URLs ftp://") {
		t.Errorf("a scheme that nobody registered: %v", err)
	}
}

// Graphs go through a broker, and train the model that they train from a file.
func TestNATS(t *testing.T) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server does not listen")
	}
	nc, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err == nil {
		_, err = js.CreateStream(context.Background(), jetstream.StreamConfig{Name: "graphs", Subjects: []string{"graphs"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var text strings.Builder
	for i := range 160 {
		n, close := 5+i%4, ""
		if i%2 == 0 {
			close = fmt.Sprintf(`,{"source":%d,"target":0}`, n-1)
		}
		var links []string
		for v := range n - 1 {
			links = append(links, fmt.Sprintf(`{"source":%d,"target":%d}`, v, v+1))
		}
		fmt.Fprintf(&text, `{"graph":{"class":%q},"links":[%s%s]}`+"\n", []string{"ring", "path"}[i%2], strings.Join(links, ","), close)
	}
	list := filepath.Join(dir, "g.jsonl")
	if err := os.WriteFile(list, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	model := filepath.Join(dir, "m")
	ran(t, "train -data "+list+" -class class -systems linear -out "+model)
	ran(t, "predict -data "+list+" -model "+model+" -out "+filepath.Join(dir, "near.csv"))
	for _, end := range []string{"csv", "jsonl", "parquet"} {
		ran(t, "predict -data "+list+" -model "+model+" -out "+filepath.Join(dir, "near."+end))
		ran(t, "predict -data "+list+" -model "+model+" -out file://"+filepath.ToSlash(dir)+"/away/far."+end+"?create_dir=true")
		want, err := os.ReadFile(filepath.Join(dir, "near."+end))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "away", "far."+end)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes of answers in a bucket, %v, want the %d of a file", len(got), err, len(want))
		}
	}
	if err := command.Run(t.Context(), []string{"predict", "-data", list, "-model", model, "-out", "mem://far/answers.txt"}); err == nil || !strings.Contains(err.Error(), ".csv, .jsonl or .parquet") {
		t.Errorf("answers in a file of another ending: %v", err)
	}
	topic := s.ClientURL() + "/graphs"
	ran(t, "export -data "+list+" -graphs -out "+topic+"?producer=one")
	again := filepath.Join(dir, "again")
	ran(t, "export -data "+topic+"?durable=copy&idle=1s -graphs -as arrow -out "+again)
	ran(t, "predict -data "+again+" -model "+model+" -out "+filepath.Join(dir, "copy.csv"))
	if err := command.Run(t.Context(), []string{"train", "-data", topic + "?idle=1s", "-out", model}); err == nil || !strings.Contains(err.Error(), "-data is a stream") || strings.Contains(err.Error(), topic) {
		t.Errorf("a train on a stream: %v", err)
	}
	ran(t, "predict -data "+topic+"?durable=two&idle=1s -model "+model+" -out "+filepath.Join(dir, "far.csv"))
	ran(t, "predict -data "+topic+"?durable=two&idle=1s -model "+model+" -out "+filepath.Join(dir, "nothing.csv")) // there is nothing new
	near, err := os.ReadFile(filepath.Join(dir, "near.csv"))
	if err != nil {
		t.Fatal(err)
	}
	far, err := os.ReadFile(filepath.Join(dir, "far.csv"))
	if err != nil || !bytes.Equal(near, far) || bytes.Count(far, []byte{'\n'}) != 161 {
		t.Errorf("%v\n%s\nwant\n%s", err, far, near)
	}
	if copied, err := os.ReadFile(filepath.Join(dir, "copy.csv")); err != nil || !bytes.Equal(near, copied) {
		t.Errorf("%v\n%s\nwant\n%s", err, copied, near)
	}
	// A run that is broken off before its output is published acknowledges nothing.
	for name, line := range map[string]string{
		"csv":   "predict -data %s -model " + model + " -out " + filepath.Join(dir, "cut.csv"),
		"jsonl": "predict -data %s -model " + model + " -out " + filepath.Join(dir, "cut.jsonl"),
		"away":  "predict -data %s -model " + model + " -out file://" + filepath.ToSlash(dir) + "/away/cut.csv",
		"lines": "export -data %s -k 5 -as jsonl -out " + filepath.Join(dir, "lines.jsonl"),
		"live":  "predict -data %s -model " + model, // to standard output, as the rows come
	} {
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		err := silently(t, func() error { return command.Run(ctx, strings.Fields(fmt.Sprintf(line, topic+"?durable="+name))) })
		stop()
		if err == nil {
			t.Errorf("%s: an endless stream has ended", name)
		}
		if c, err := js.Consumer(t.Context(), "graphs", name); err != nil {
			t.Error(err)
		} else if info, err := c.Info(t.Context()); err != nil || info.Delivered.Consumer == 0 || (info.AckFloor.Stream != 0) != (name == "live") {
			t.Errorf("%s: %v: %d were delivered, and %d acknowledged without a result", name, err, info.Delivered.Consumer, info.AckFloor.Stream)
		}
	}
	ran(t, "predict -data "+topic+"?durable=csv&idle=1s -model "+model+" -out "+filepath.Join(dir, "cut.csv"))
	sorted := func(b []byte) []string { // messages that come again may come in any order
		lines := strings.Split(string(b), "\n")
		slices.Sort(lines)
		return lines
	}
	if cut, err := os.ReadFile(filepath.Join(dir, "cut.csv")); err != nil || !slices.Equal(sorted(near), sorted(cut)) {
		t.Errorf("%v\n%s\nwant\n%s", err, cut, near)
	}
	for _, c := range [][2]string{
		{"export -k 5 -out " + again, "set -w"}, {"export -w 3 -parts 2 -out " + again, "leave out -parts"},
		{"evaluate -model " + model, "evaluate reads its data again"}, {"atlas -model " + model, "atlas reads its data again"},
		{"predict -model file://" + model, "-model reads a file of this machine"},
	} {
		line := append(strings.Fields(c[0]), "-data", topic+"?durable=first&idle=1s")
		if err := command.Run(t.Context(), line); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%q: %v", line, err)
		}
	}
	if err := command.Run(t.Context(), []string{"inspect", "s3://bucket" + list}); err == nil || !strings.Contains(err.Error(), "inspect reads a file of this machine") {
		t.Errorf("inspect of a URL: %v", err)
	}
	if err := command.Run(t.Context(), []string{"predict", "-data", topic + "?idle=1s", "-model", model}); err == nil || !strings.Contains(err.Error(), "want ?durable=NAME") {
		t.Errorf("without a durable name: %v", err)
	}
	if err := command.Run(t.Context(), []string{"export", "-data", list, "-graphs", "-out", topic}); err == nil || !strings.Contains(err.Error(), "want ?producer=NAME") {
		t.Errorf("without a producer: %v", err)
	}
}
