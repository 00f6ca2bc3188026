package download

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// Naming the files of an artifact of many parts takes time for each, not for each pair.
func TestManyPartsAreNamedAtOnce(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "last.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	allocs := func(parts int) float64 {
		log := &a2a.Artifact{ArtifactID: "a", Name: "log"}
		for range parts {
			log.Parts = append(log.Parts, &a2a.Part{Kind: a2a.PartData, Data: a2a.JSON(`1`)})
		}
		return testing.AllocsPerRun(1, func() {
			files := Files([]*a2a.Artifact{log, {ArtifactID: "b", Name: "last", Parts: log.Parts[:1]}})
			var there *ExistsError
			if err := Save(dir, files, false); !errors.As(err, &there) { // before anything is written
				t.Error(err)
			}
		})
	}
	if few, many := allocs(100), allocs(1600); many > 32*few {
		t.Errorf("16 times as many parts cost %.0f allocations, not %.0f", many, few)
	}
}
