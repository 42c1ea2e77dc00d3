package labeling

const MaxCanonical = maxCanonical

var ErrNotConverged = errNotConverged
