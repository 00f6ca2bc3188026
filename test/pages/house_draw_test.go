package pages

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"
)

// Measures of the picture, in its own units.
const (
	boxWidth, wideBox = 216, 460 // wideBox for rooms of many packages
	passWidth         = 20       // of an arrow that passes a floor
	gapX, gapY        = 20, 46   // between boxes, and between floors
	margin            = 24
	titleLine         = 22
	textLine          = 17
	listLine          = 15
)

// A node is a box of a floor, or a place where an arrow passes it.
type node struct {
	room     int // -1: an arrow passes
	floor    int
	x, width float64 // the middle, and how wide it is
	up, down []*node
	text     []line
	height   float64
}

type line struct {
	class, text string
	height      float64
}

// draw returns the map as SVG: rooms on floors, and the arrows that no others imply.
func draw(arrows []map[int]bool) string {
	floors := layout(arrows)
	place(floors)
	for _, floor := range floors { // arrows side by side do not cross at their ends
		for _, n := range floor {
			byPlace := func(a, b *node) int { return cmp.Compare(a.x, b.x) }
			slices.SortStableFunc(n.up, byPlace)
			slices.SortStableFunc(n.down, byPlace)
		}
	}

	var out strings.Builder
	left, right := edges(floors)
	y := make([]float64, len(floors)) // the top of each floor
	height := float64(margin)
	heights := make([]float64, len(floors))
	for f := len(floors) - 1; f >= 0; f-- {
		y[f] = height
		for _, n := range floors[f] {
			heights[f] = max(heights[f], n.height)
		}
		height += heights[f] + gapY
	}
	height += margin - gapY
	width := right - left + 2*margin
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" role="img" aria-labelledby="t">
<title id="t">The packages of Parley in rooms. Arrows are imports and all point down; an arrow that others imply is left out.</title>
<style>
svg { background: #ffffff; font-family: system-ui, sans-serif }
rect { fill: #f3f6fa; stroke: #8496ab }
path { fill: none; stroke: #6b7f96; stroke-width: 1.4 }
marker path { fill: #6b7f96; stroke: none }
.name { font-size: 16px; font-weight: 600; fill: #14202e }
.purpose { font-size: 13px; fill: #33455a }
.list { font-size: 11.5px; font-family: ui-monospace, monospace; fill: #4a5d73 }
@media (prefers-color-scheme: dark) {
svg { background: #0d1520 }
rect { fill: #172333; stroke: #4c6079 }
path { stroke: #8aa0b8 }
marker path { fill: #8aa0b8 }
.name { fill: #eef3f9 }
.purpose { fill: #c3d0de }
.list { fill: #a3b4c7 }
}
</style>
<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>
`, width, height)
	for f := len(floors) - 1; f >= 0; f-- {
		for _, n := range floors[f] {
			if n.room >= 0 {
				for i, to := range n.down {
					arrow(&out, n, to, port(n, i, len(n.down)), margin-left, y, heights)
				}
			}
		}
	}
	for f := len(floors) - 1; f >= 0; f-- {
		for _, n := range floors[f] {
			if n.room >= 0 {
				box(&out, n, n.x-n.width/2+margin-left, y[f])
			}
		}
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// layout makes the nodes of each floor, in an order that crosses few arrows.
func layout(arrows []map[int]bool) [][]*node {
	at := levels(arrows)
	floors := make([][]*node, slices.Max(at)+1)
	add := func(n *node) *node {
		floors[n.floor] = append(floors[n.floor], n)
		return n
	}
	nodes := make([]*node, len(rooms))
	for i := range rooms {
		nodes[i] = add(boxOf(i, at[i], rooms[i].packages))
	}
	for from, tos := range essential(arrows) {
		for _, to := range tos {
			n := nodes[from]
			for f := n.floor - 1; f > nodes[to].floor; f-- {
				pass := add(&node{room: -1, floor: f, width: passWidth})
				join(n, pass)
				n = pass
			}
			join(n, nodes[to])
		}
	}
	for range 24 {
		for f := len(floors) - 2; f >= 0; f-- {
			order(floors[f], floors[f+1], func(n *node) []*node { return n.up })
		}
		for f := 1; f < len(floors); f++ {
			order(floors[f], floors[f-1], func(n *node) []*node { return n.down })
		}
	}
	return floors
}

func join(upper, lower *node) {
	upper.down, lower.up = append(upper.down, lower), append(lower.up, upper)
}

// order sorts a floor by where its neighbours stand.
func order(floor, beside []*node, neighbours func(*node) []*node) {
	place := map[*node]float64{}
	for i, n := range beside {
		place[n] = (float64(i) + .5) / float64(len(beside))
	}
	key := map[*node]float64{}
	for i, n := range floor {
		key[n] = (float64(i) + .5) / float64(len(floor))
		if ns := neighbours(n); len(ns) > 0 {
			key[n] = 0
			for _, m := range ns {
				key[n] += place[m] / float64(len(ns))
			}
		}
	}
	slices.SortStableFunc(floor, func(a, b *node) int { return cmp.Compare(key[a], key[b]) })
}

// place moves nodes near their neighbours, without an overlap.
func place(floors [][]*node) {
	for _, floor := range floors {
		settle(floor, func(*node) float64 { return 0 })
	}
	for range 60 {
		for _, floor := range floors {
			settle(floor, func(n *node) float64 {
				sum := n.x
				for _, m := range n.up {
					sum += m.x
				}
				for _, m := range n.down {
					sum += m.x
				}
				return sum / float64(1+len(n.up)+len(n.down))
			})
		}
	}
}

// settle puts the nodes of a floor where they want to be, as far as there is room.
func settle(floor []*node, want func(*node) float64) {
	wish := make([]float64, len(floor))
	right := make([]float64, len(floor))
	for i, n := range floor {
		wish[i] = want(n)
		right[i] = wish[i]
		if i > 0 {
			right[i] = max(right[i], right[i-1]+apart(floor[i-1], n))
		}
	}
	left := slices.Clone(wish)
	for i := len(floor) - 2; i >= 0; i-- {
		left[i] = min(left[i], left[i+1]-apart(floor[i], floor[i+1]))
	}
	for i, n := range floor {
		n.x = (left[i] + right[i]) / 2
	}
}

func apart(a, b *node) float64 { return (a.width+b.width)/2 + gapX }

func edges(floors [][]*node) (left, right float64) {
	for _, floor := range floors {
		for _, n := range floor {
			left, right = min(left, n.x-n.width/2), max(right, n.x+n.width/2)
		}
	}
	return left, right
}

// boxOf has the lines of a room.
func boxOf(room, floor int, packages []string) *node {
	n := &node{room: room, floor: floor, width: boxWidth}
	if len(packages) > 7 {
		n.width = wideBox
	}
	r := rooms[room]
	n.text = append(n.text, line{"name", r.name, titleLine})
	for _, text := range wrap(strings.Fields(r.purpose), " ", int(n.width-24)/7) {
		n.text = append(n.text, line{"purpose", text, textLine})
	}
	names := slices.Clone(packages)
	for i, name := range names {
		if name == "." {
			names[i] = "parley"
		}
	}
	for _, text := range wrap(names, "  ", int(n.width-24)/7) {
		n.text = append(n.text, line{"list", text, listLine})
	}
	n.height = 16
	for _, l := range n.text {
		n.height += l.height
	}
	return n
}

// wrap joins words to lines of at most so many characters.
func wrap(words []string, with string, most int) (lines []string) {
	for _, w := range words {
		if last := len(lines) - 1; last >= 0 && len(lines[last])+len(with)+len(w) <= most {
			lines[last] += with + w
		} else {
			lines = append(lines, w)
		}
	}
	return lines
}

func box(out *strings.Builder, n *node, x, y float64) {
	fmt.Fprintf(out, "<rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" rx=\"7\"/>\n", x, y, n.width, n.height)
	y += 4
	for _, l := range n.text {
		y += l.height
		fmt.Fprintf(out, "<text class=\"%s\" x=\"%.0f\" y=\"%.0f\" xml:space=\"preserve\">%s</text>\n", l.class, x+12, y, html.EscapeString(l.text))
	}
}

// port is where the i-th of several arrows leaves or enters a box.
func port(n *node, i, of int) float64 {
	if n.room < 0 {
		return n.x
	}
	span := min(n.width-60, float64(of-1)*44)
	if of < 2 {
		return n.x
	}
	return n.x - span/2 + span*float64(i)/float64(of-1)
}

// arrow draws one from a room through the floors that it passes to the next room.
func arrow(out *strings.Builder, n, to *node, x, shift float64, y, heights []float64) {
	bottom := y[n.floor] + n.height
	fmt.Fprintf(out, "<path marker-end=\"url(#a)\" d=\"M%.0f %.0f", x+shift, bottom)
	if floor := y[n.floor] + heights[n.floor]; floor > bottom {
		fmt.Fprintf(out, " V%.0f", floor)
	}
	from := n
	for {
		end := port(to, slices.Index(to.up, from), len(to.up))
		top := y[to.floor]
		start := y[from.floor] + heights[from.floor]
		half := (start + top) / 2
		fmt.Fprintf(out, " C%.0f %.0f %.0f %.0f %.0f %.0f", x+shift, half, end+shift, half, end+shift, top)
		if to.room >= 0 {
			break
		}
		x = end
		fmt.Fprintf(out, " V%.0f", y[to.floor]+heights[to.floor])
		from, to = to, to.down[0]
	}
	out.WriteString("\"/>\n")
}
