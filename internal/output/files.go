package output

import (
	"fmt"
	"strconv"

	"github.com/parley-a2a/parley/internal/download"
	"github.com/parley-a2a/parley/internal/plain"
)

// Saved implements Printer.
func (p *Text) Saved(files []*download.File) error {
	for _, f := range files {
		if f.URL != "" {
			p.out.Field("Not fetched", f.URL)
			continue
		}
		p.out.Field("Saved", plain.Line(f.Path))
		p.out.Field("Media type", f.MediaType)
		p.out.Field("Size", strconv.Itoa(f.Size)+" bytes")
	}
	return p.out.Flush()
}

func (p *Human) Saved(files []*download.File) error {
	for _, f := range files {
		line := fmt.Sprintf("saved %s, %s", f.Path, plain.Bytes(int64(f.Size)))
		if f.URL != "" {
			line = "not fetched: " + f.URL
		}
		if err := p.r.Summary("%s", line); err != nil {
			return err
		}
	}
	return nil
}

func (p *JSON) Saved(files []*download.File) error {
	if files == nil {
		files = []*download.File{}
	}
	return p.Doc(map[string][]*download.File{"files": files}, nil)
}
