package sources

// Nowhere is a sink that forgets.
type Nowhere = nowhere
