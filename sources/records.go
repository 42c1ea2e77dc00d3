package sources

import "github.com/sanflow/sanflow/flow"

// Records streams records that are in memory. It is of package flow, since sinks read
// what they have collected.
type Records = flow.Records
