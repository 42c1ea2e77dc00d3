package now

// Short makes the distances of a Live that learns short.
func Short() {
	checkpointLessons, checkpointEvents, foldEvents = 64, 150, 40
	windowLessons = 100
}
