package sources

import "github.com/sanflow/sanflow/flow"

// Records streams records that are in memory. It belongs to package flow, since sinks read their
// collected records.
type Records = flow.Records
