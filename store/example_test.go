package store_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/store"
)

// A writer continues at the end of the log. If another writer was faster, the append returns
// ErrConflict and changes nothing.
func ExampleDo() {
	st := store.NewMemory()
	defer st.Close()
	ctx, now := context.Background(), time.Now()

	row := store.Row{Key: store.Key{Owner: "ann", ID: "t1"}, State: 1, Updated: now, Created: now, Epoch: 1}
	first := &store.Append{
		Row:     row,
		Entries: []store.Entry{{Seq: 1, Time: now, Kind: 1, Body: []byte("hello")}},
	}
	fmt.Println("first:", store.Do(ctx, st, first))

	second := &store.Append{
		Row:     row,
		After:   1,
		Epoch:   1,
		Entries: []store.Entry{{Seq: 2, Time: now, Kind: 1, Body: []byte("world")}},
	}
	fmt.Println("second:", store.Do(ctx, st, second))
	fmt.Println("again:", errors.Is(store.Do(ctx, st, second), store.ErrConflict))

	entries, err := st.Entries(ctx, row.Key, 0, 0)
	for _, e := range entries {
		fmt.Println(e.Seq, string(e.Body))
	}
	fmt.Println(err)
	// Output:
	// first: <nil>
	// second: <nil>
	// again: true
	// 1 hello
	// 2 world
	// <nil>
}
