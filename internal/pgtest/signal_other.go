//go:build !unix

package pgtest

import "errors"

func freeze(int) error { return errors.ErrUnsupported }
func thaw(int) error   { return errors.ErrUnsupported }
