package now

// Short makes the distances of a Live that learns short, until long is called.
func Short() (long func()) {
	lessons, events, fold, window := checkpointLessons, checkpointEvents, foldEvents, windowLessons
	checkpointLessons, checkpointEvents, foldEvents, windowLessons = 64, 150, 40, 100
	return func() { checkpointLessons, checkpointEvents, foldEvents, windowLessons = lessons, events, fold, window }
}
