package jetstream_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	sink "github.com/sanflow/sanflow/sinks/jetstream"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/jetstream"
)

// allowed reads the table of the package documentation.
func allowed(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "# Permissions")
	table, _, _ = strings.Cut(table, "// # ")
	of := map[string][]string{}
	for line := range strings.Lines(table) {
		if f := strings.Fields(strings.TrimPrefix(line, "//\t")); len(f) == 2 && strings.HasPrefix(line, "//\t") {
			of[f[0]] = append(of[f[0]], strings.ReplaceAll(f[1], "DURABLE", "make"))
		}
	}
	return of
}

// Roles that may publish to what the documentation lists, and to nothing else, do their work
// where the stream of fields is bounded; one that may not is told so.
func TestPermissions(t *testing.T) {
	t.Parallel()
	o := jettest.Options(t.TempDir(), 0)
	of := allowed(t)
	for _, role := range []string{"feed", "worker", "trainer"} {
		if len(of[role]) < 5 {
			t.Fatalf("the documentation has %q for %s", of[role], role)
		}
		o.Users = append(o.Users, &server.User{Username: role, Password: role, Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: of[role]}, Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
		}})
	}
	address := strings.TrimPrefix(jettest.Start(t, o).ClientURL(), "nats://")
	as := func(role string) jetstream.Connection {
		return jetstream.Connection{URL: "nats://" + role + ":" + role + "@" + address, Patience: 10 * time.Second}
	}
	const graphs, perMessage, bound = 100, 5, 8_000
	src := sources.Families{Graphs: graphs, Rows: perMessage}
	if _, err := run(t, flow.From(src).To(sink.Sink{Connection: as("feed"), Stream: "graphs", Queue: true}), flow.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, flow.From(src).To(sink.Sink{Connection: as("feed"), Stream: "fields"}), flow.Options{}); err == nil || !strings.Contains(strings.ToLower(err.Error()), "permission") {
		t.Errorf("the feed makes a stream of fields: %v", err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	worker := recipe.Onto(flow.From(jetstream.Source{Connection: as("worker"), Stream: "graphs", Durable: "make", AckWait: time.Second, Pending: 4})).
		To(sink.Sink{Connection: as("worker"), Stream: "fields", MaxBytes: bound}).Start(ctx)
	net := &nn.CNN{Seed: 1}
	err := flow.From(jetstream.Source{Connection: as("trainer"), Stream: "fields", Ordered: true, Purge: true, Wait: time.Minute}).Via(operators.Batch{Size: 16}).To(sinks.Train{
		Net: net, Checkpoint: sinks.Checkpoint{File: filepath.Join(t.TempDir(), "checkpoint"), Every: -1},
	}).Run(ctx)
	if err != nil || net.Seen() != graphs {
		t.Errorf("trainer: %d of %d graphs: %v", net.Seen(), graphs, err)
	}
	if err := worker.Wait(); err != nil {
		t.Errorf("worker: %v", err)
	}
}
