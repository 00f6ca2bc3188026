package main

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Sizes of a soak's picture, in pixels.
const (
	soakWidth, soakHeight = 820, 150 // of a panel
	soakLeft, soakTop     = 70, 28   // of its curve
)

// picture draws memory, disk and delays over the minutes of a soak, as SVG, in colours
// that are readable on white and on black.
func picture(all []piece) []byte {
	panels := []struct {
		title string
		of    func(piece) float64
	}{
		{"resident memory, MB", func(p piece) float64 { return p.memory }},
		{"database on disk, MB", func(p piece) float64 { return p.disk }},
		{"99th percentile of a call, ms", func(p piece) float64 { return p.p99 }},
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13" fill="#7d8590">`+"\n", soakWidth, len(panels)*soakHeight+24)
	end := all[len(all)-1].minutes
	for i, panel := range panels {
		most := panel.of(slices.MaxFunc(all, func(p, q piece) int { return cmp.Compare(panel.of(p), panel.of(q)) }))
		x := func(minutes float64) float64 { return soakLeft + minutes/end*(soakWidth-soakLeft-10) }
		bottom := float64((i + 1) * soakHeight)
		y := func(v float64) float64 { return bottom - v/max(most, 1e-9)*(soakHeight-soakTop-14) }
		fmt.Fprintf(&b, `<text x="%d" y="%.0f">%s</text>`+"\n", soakLeft, bottom-soakHeight+soakTop-8, panel.title)
		for _, v := range []float64{0, most} {
			fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#7d8590" stroke-opacity=".3"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", soakLeft, y(v), soakWidth-10, soakLeft-8, y(v)+4, thousands(int(math.Round(v))))
		}
		b.WriteString(`<polyline fill="none" stroke="#4493f8" stroke-width="2" points="`)
		for _, p := range all {
			fmt.Fprintf(&b, "%.1f,%.1f ", x(p.minutes), y(panel.of(p)))
		}
		b.WriteString("\"/>\n")
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d">0</text><text x="%d" y="%d" text-anchor="end">%.0f minutes</text>`+"\n</svg>\n", soakLeft, len(panels)*soakHeight+18, soakWidth-10, len(panels)*soakHeight+18, end)
	return b.Bytes()
}
