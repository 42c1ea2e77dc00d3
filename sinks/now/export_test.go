package now

// Short makes the distances of a Live that learns short.
func Short() {
	answerLessons, checkpointLessons, checkpointEvents, foldEvents = 16, 64, 150, 40
	windowLessons = 100
}
