// Package flagvalue makes values of flags (pflag.Value) from functions that parse one word. One
// goroutine at a time may set values.
package flagvalue

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
)

// Value is the value of a flag.
type Value struct {
	kind string
	set  func(string) error
	show func() string

	// Words are for completion; nil leaves it to the shell.
	Words []string
}

// Words returns what Tab offers for the value of a flag, which may be in a wrapper that
// can Unwrap; nil: the shell's choice.
func Words(of pflag.Value) []string {
	if w, ok := of.(interface{ Unwrap() pflag.Value }); ok {
		of = w.Unwrap()
	}
	if v, ok := of.(*Value); ok {
		return v.Words
	}
	return nil
}

// New returns a value that passes each word on the command line to set. kind is help's name for
// such a word. show formats the default and the present value; nil shows nothing.
func New(kind string, set func(word string) error, show func() string) *Value {
	return &Value{kind: kind, set: set, show: show}
}

// Of returns a value that parses each word into *to.
func Of[T any](kind string, to *T, parse func(string) (T, error), show func(T) string) *Value {
	set := func(word string) error {
		v, err := parse(word)
		if err == nil {
			*to = v
		}
		return err
	}
	return New(kind, set, shown(to, show))
}

// List returns a value for a flag that may be repeated: it appends the result of parsing each
// word to *to.
func List[T any](kind string, to *[]T, parse func(string) ([]T, error), show func([]T) string) *Value {
	set := func(word string) error {
		list, err := parse(word)
		if err == nil {
			*to = append(*to, list...)
		}
		return err
	}
	return New(kind, set, shown(to, show))
}

func shown[T any](of *T, show func(T) string) func() string {
	if show == nil {
		return nil
	}
	return func() string { return show(*of) }
}

// One turns a parser of one element into a parser for List.
func One[T any](parse func(string) (T, error)) func(string) ([]T, error) {
	return func(word string) ([]T, error) {
		v, err := parse(word)
		return []T{v}, err
	}
}

// Commas formats a list of words.
func Commas(list []string) string { return strings.Join(list, ",") }

func (v *Value) String() string {
	if v.show == nil {
		return ""
	}
	return v.show()
}

func (v *Value) Type() string          { return v.kind }
func (v *Value) Set(word string) error { return v.set(word) }

// Choice returns a value that must be one of a few words, in any case.
func Choice(to *string, words ...string) *Value {
	v := Of("string", to, func(s string) (string, error) {
		for _, w := range words {
			if strings.EqualFold(s, w) {
				return w, nil
			}
		}
		return "", fmt.Errorf("must be %s", AnyOf(words))
	}, func(s string) string { return s })
	v.Words = named(words)
	return v
}

// Number returns a value that is a number from least to most; nil stands for none.
func Number(kind string, to **int32, least, most int32) *Value {
	return Of(kind, to, func(s string) (*int32, error) {
		n, err := strconv.ParseInt(s, 10, 32)
		switch {
		case err == nil && n >= int64(least) && n <= int64(most):
			return new(int32(n)), nil
		case most == math.MaxInt32:
			return nil, fmt.Errorf("must be a number from %d up", least)
		}
		return nil, fmt.Errorf("must be a number from %d to %d", least, most)
	}, func(n *int32) string {
		if n == nil {
			return ""
		}
		return strconv.Itoa(int(*n))
	})
}

// named returns words without the empty one, which stands for the default.
func named(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" })
}

// AnyOf lists words in a sentence, without the empty one, which stands for the default.
func AnyOf(words []string) string {
	words = named(words)
	last := len(words) - 1
	return strings.TrimPrefix(strings.Join(words[:last], ", ")+" or ", " or ") + words[last]
}

var units = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// Size returns a value for a number of bytes, with or without a unit.
func Size(to *int64) *Value {
	return Of("size", to, ParseSize, func(n int64) string {
		for _, u := range units {
			if n > 0 && n%u.bytes == 0 {
				return strconv.FormatInt(n/u.bytes, 10) + u.name
			}
		}
		return strconv.FormatInt(n, 10)
	})
}

// ParseSize parses a number of bytes: 65536, 64KiB, 8MiB or 1GiB, in any case.
func ParseSize(s string) (int64, error) {
	unit := int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(strings.ToLower(s), strings.ToLower(u.name)); ok {
			s, unit = rest, u.bytes
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return 0, errors.New("must be a number of bytes such as 65536, 64KiB, 8MiB or 1GiB")
	}
	return n * unit, nil
}

// ParseBindings parses protocol bindings separated by commas, with their names in cards or with
// common names.
func ParseBindings(word string) ([]string, error) {
	var list []string
	for name := range strings.SplitSeq(word, ",") {
		switch name = strings.TrimSpace(name); strings.ToUpper(name) {
		case "JSONRPC", "JSON-RPC":
			name = a2a.BindingJSONRPC
		case "HTTP+JSON", "HTTPJSON", "HTTP", "REST":
			name = a2a.BindingHTTPJSON
		case "GRPC":
			name = a2a.BindingGRPC
		default:
			if !strings.Contains(name, "://") { // custom bindings are URIs (A2A §5.8)
				return nil, errors.New("must be JSONRPC, HTTP+JSON, GRPC or the URI of another binding")
			}
		}
		list = append(list, name)
	}
	return list, nil
}
