package checkpoint_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/event/checkpoint"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/events"
)

// model counts the fields of each root. It stands for one that learns.
type model map[int32]int

func (m model) Open(*arrow.Schema) (flow.Writer, error) { return m, nil }
func (m model) Close(error) error                       { return nil }
func (m model) Write(_ context.Context, rec arrow.Record) error {
	roots, err := record.ListsOf[int32](rec, record.Roots)
	if err != nil {
		return err
	}
	for row := range roots.Len() {
		for _, v := range roots.Row(row) {
			if v >= 0 {
				m[v]++
			}
		}
	}
	return nil
}

// Graph, fields and model of a pipeline are kept after each 2 events. The second run reads
// the file again, which has grown, and goes on behind the 4 events that it knows: ids have
// the numbers that they had.
func ExampleRun_Segments() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	run := func(text string) error {
		ctx, state, net := context.Background(), &operators.EvolveState{}, model{}
		run, err := checkpoint.File{Path: filepath.Join(dir, "run"), Every: 2, Resume: true}.Open(
			checkpoint.Part{Name: "fields", Save: state.Save, Load: state.Load},
			checkpoint.Part{
				Name: "model",
				Save: func(w io.Writer) error { return json.NewEncoder(w).Encode(net) },
				Load: func(r io.Reader) error {
					text, err := io.ReadAll(r) // a Decoder can leave the end of the line
					if err != nil {
						return err
					}
					return json.Unmarshal(text, &net)
				},
			})
		if err != nil {
			return err
		}
		defer run.Close()
		s, err := events.Source{Table: sources.Text{Path: "calls.txt", Reader: strings.NewReader(text)}}.Open(ctx)
		if err != nil {
			return err
		}
		defer s.Close()
		fmt.Println("known:", run.Pos())
		for segment := range run.Segments(s.All()) {
			err := flow.From(events.Rows{Events: segment}).
				Via(operators.Evolve{Normalize: operators.Normalize{K: 3}, Every: 2, State: state}).
				To(net).Run(ctx)
			if err != nil {
				return err
			}
			if err := run.Save(); err != nil {
				return err
			}
		}
		if err := run.Flush(); err != nil { // the last segment may be shorter
			return err
		}
		var fields []string
		for v := range int32(s.Nodes()) {
			fields = append(fields, fmt.Sprint(s.Name(v), " ", net[v]))
		}
		fmt.Println(strings.Join(fields, " "))
		return nil
	}
	const begin = "ann bob 1\nbob cy 2\ncy dan 3\nann dan 4\n"
	for _, text := range []string{begin, begin + "eve ann 5\neve bob 6\n"} {
		if err := run(text); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// known: 0
	// ann 2 bob 1 cy 2 dan 1
	// known: 4
	// ann 2 bob 1 cy 2 dan 1 eve 1
}
