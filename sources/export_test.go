package sources

// What tests outside the package use.
var (
	MapFS      = mapFS
	BigProduct = bigProduct
)

// RaceDetector reports whether the race detector is on.
func RaceDetector() bool { return raceDetector }

// Nowhere is a sink that forgets.
type Nowhere = nowhere
