package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// processors are those whose cycles are estimated. LLVM has no model of Apple's
// since the Cyclone of 2013, which it takes for the M1, too: three vector pipes
// where that has four.
var processors = []struct{ title, cpu string }{
	{"Neoverse N1", "neoverse-n1"}, {"Neoverse V1", "neoverse-v1"}, {"Apple M1", "apple-m1"},
}

// estimate prints cycles per value of each loop, values being multiplications
// for a panel, as llvm-mca simulates it when all that is loaded is in the
// first-level cache and every branch is foreseen.
func estimate(w io.Writer, tool string, loops []loop) error {
	for _, l := range loops {
		fmt.Fprintf(w, "%-24s", strings.ReplaceAll(l.name, "NEON", ""))
		for _, p := range processors {
			cmd := exec.Command(tool, "-mtriple=aarch64", "-mcpu="+p.cpu, "-iterations=200", "-json")
			cmd.Stdin = strings.NewReader(strings.Join(l.lines, "\n") + "\n")
			var errs bytes.Buffer
			cmd.Stderr = &errs
			out, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("%s for %s: %w\n%s", tool, l.name, err, errs.String())
			}
			var report struct {
				CodeRegions []struct {
					SummaryView struct{ Iterations, TotalCycles float64 }
				}
			}
			if err := json.Unmarshal(out, &report); err != nil || len(report.CodeRegions) == 0 {
				return fmt.Errorf("%s for %s: an answer without regions, %v", tool, l.name, err)
			}
			s := report.CodeRegions[0].SummaryView
			fmt.Fprintf(w, " %7.3f", s.TotalCycles/s.Iterations/float64(l.values))
		}
		fmt.Fprintln(w)
	}
	return nil
}
