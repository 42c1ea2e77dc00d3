// Package store keeps the results of a long run in a directory, so that the run can
// be stopped at any moment, also by a loss of power, and resumed:
//
//	s, err := store.Open(nil, "run")
//	if err != nil {
//		return err // no place to write to, or another process has the directory
//	}
//	defer s.Close()
//	err = s.Begin([]store.Setting{{"-seed", "1"}}, true)
//	if err != nil {
//		return err // a run with other settings
//	}
//	for fold := range folds {
//		name, score := fmt.Sprint("fold-", fold), 0.0
//		ok, err := s.Get(name, &score)
//		if err != nil {
//			return err
//		}
//		if !ok {
//			score = learn(fold)
//			err = s.Put(name, score)
//		}
//		…
//	}
//
// An entry is the file NAME.json of the directory: a JSON object with the SHA-256 of
// its content, its name, the checksum of the settings of its run, and the value. It
// appears whole or not at all: see package flow/file.
//
// # What is refused
//
// [Store.Get] returns the value that [Store.Put] was given, or an error that names the file. The
// error is [ErrDamaged] where one bit or more of the file differs, where the file is truncated,
// where it was renamed, and where it is of a run with other settings. Remove the file, and the
// program computes the result again. The store never does that by itself, because a damaged file
// indicates a damaged disk.
//
// One process at a time has a directory: the others get [file.ErrHeld].
package store
