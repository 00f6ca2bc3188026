//go:build !linux

package pgtest

import (
	"errors"
	"os/exec"
)

type owner struct{}

func serverUser() (*owner, error) { return nil, nil }

func (*owner) give(string) error { return nil }

func (*owner) become(*exec.Cmd) {}

func enter(space string) error {
	if space != "" {
		return errors.ErrUnsupported
	}
	return nil
}
