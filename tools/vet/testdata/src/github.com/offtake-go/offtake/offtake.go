package offtake

import "errors"

var ErrBusy = errors.New("busy")

type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }
