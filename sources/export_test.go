package sources

// MapFS is a file system of these files.
var MapFS = mapFS

// RaceDetector reports whether the race detector is on.
func RaceDetector() bool { return raceDetector }

// Nowhere is a sink that forgets.
type Nowhere = nowhere
