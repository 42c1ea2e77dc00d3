package main

import (
	"flag"
	"fmt"
	"os"
)

const usage = `online: learns from graphs that are posted, and classifies graphs by what it has learned.

  online                                                               answers until Ctrl-C
  curl 'localhost:8080?class=ring' -d '[[0,1],[1,2],[2,3],[3,0]]'      a graph to learn
  curl localhost:8080 -d '[[0,1],[1,2],[2,3],[3,4],[4,0]]'             a graph to classify

Status 200 has the answer; 400 is no graph or no class, 422 a graph that cannot be classified,
503 a question before the first step. The pipeline is shown at /live/.

`

func init() {
	flag.CommandLine.SetOutput(os.Stdout)
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
}
