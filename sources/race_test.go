//go:build race

package sources

func init() { raceDetector = true }
