package store

import (
	"context"
	"maps"
	"slices"
)

// Tasks implements Store.
func (m *Memory) Tasks(ctx context.Context, after *Key, limit int) ([]Row, error) {
	if err := CheckLimit(limit); err != nil {
		return nil, err
	}
	var found []Row
	err := m.read(ctx, func(d *memory) error {
		for k, t := range d.tasks {
			if after == nil || k.Compare(*after) > 0 {
				found = append(found, t.row)
			}
		}
		return nil
	})
	slices.SortFunc(found, func(a, b Row) int { return a.Key.Compare(b.Key) })
	return found[:min(len(found), limit)], err
}

// Blobs implements Store.
func (m *Memory) Blobs(ctx context.Context, k Key) ([]string, error) {
	var found []string
	err := m.read(ctx, func(d *memory) error {
		if t := d.tasks[k]; t != nil {
			found = slices.Sorted(maps.Keys(t.blobs))
		}
		return nil
	})
	return found, err
}
