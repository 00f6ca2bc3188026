package draft

import (
	"errors"
	"fmt"
	"os"

	"github.com/parley-a2a/parley/internal/failure"
)

// Create writes a file that must not exist yet.
func Create(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return failure.Usagef("%v", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(name) // otherwise half a file would exist the next time
		return failure.New(failure.CodeServe, fmt.Sprintf("write %s: %v", name, err), err)
	}
	return nil
}
