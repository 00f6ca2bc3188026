//go:build !unix

package torture

import (
	"errors"
	"os"
)

func (s *server) pause() error  { return errors.ErrUnsupported }
func (s *server) resume() error { return errors.ErrUnsupported }

func freeze(*os.Process) error { return errors.ErrUnsupported }
