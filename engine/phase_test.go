package engine

import (
	"fmt"
	"log/slog"

	"github.com/parley-a2a/parley/engine/internal/task"
)

// No test of this package may see an owner take a step that its table does not have.
func init() {
	task.UnexpectedPhase = func(_ *slog.Logger, from, to string) {
		panic(fmt.Sprintf("the owner of a task goes from %s to %s", from, to))
	}
}
