//go:build !unix

package torture

import "errors"

func (s *server) pause() error  { return errors.ErrUnsupported }
func (s *server) resume() error { return errors.ErrUnsupported }
