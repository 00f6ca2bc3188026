package help

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Like returns the long option of cmd that a misspelled one was probably meant to be,
// or "".
func Like(name string, cmd *cobra.Command) (best string) {
	least := 3 // edits from which nobody can tell what was meant
	if len(name) < 5 {
		least = 2
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		d := distance(name, f.Name)
		if len(name) >= 3 && d >= least && best == "" && strings.HasPrefix(f.Name, name) {
			d = least - 1
		}
		if d < least {
			best, least = f.Name, d
		}
	})
	return best
}

// distance is how many letters have to be inserted, deleted, replaced or swapped with
// the next one to make b of a.
func distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row := rows[0], rows[1], rows[2]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		rows = [3][]int{last, row, before}
	}
	return rows[1][len(b)]
}
