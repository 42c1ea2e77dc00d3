package live

import (
	"bytes"
	"fmt"
	"strings"
)

// Text writes metrics in the text format of Prometheus, version 0.0.4. The zero value is
// ready.
//
//	var t live.Text
//	t.Metric("myprogram_requests_total", "counter", "Requests by status.")
//	t.Sample("", 7, "code", "200")
type Text struct {
	b    bytes.Buffer
	name string
}

// ContentType is the header Content-Type of an answer that a Text has written.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

var (
	escape     = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	escapeHelp = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
)

// Metric begins a metric: a counter, a gauge or a histogram.
func (t *Text) Metric(name, kind, help string) {
	t.name = name
	fmt.Fprintf(&t.b, "# HELP %s %s\n# TYPE %s %s\n", name, escapeHelp.Replace(strings.ToValidUTF8(help, "\ufffd")), name, kind)
}

// Sample writes a number of the metric that was begun last. suffix is "", or of a histogram
// "_bucket", "_sum" or "_count"; labels are names and values in turn, where values may be any
// text.
func (t *Text) Sample(suffix string, x any, labels ...string) {
	var pairs []string
	for i := 1; i < len(labels); i += 2 {
		pairs = append(pairs, fmt.Sprintf(`%s="%s"`, labels[i-1], escape.Replace(strings.ToValidUTF8(labels[i], "\ufffd"))))
	}
	all := ""
	if len(pairs) > 0 {
		all = "{" + strings.Join(pairs, ",") + "}"
	}
	fmt.Fprintf(&t.b, "%s%s%s %v\n", t.name, suffix, all, x)
}

// Bytes returns what was written.
func (t *Text) Bytes() []byte { return t.b.Bytes() }
