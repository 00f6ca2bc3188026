package dialect

import (
	stdjson "encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/json"
	"google.golang.org/protobuf/types/known/structpb"
)

// object converts a JSON object; absent is nil. A value that is no object, which
// package a2a does not let through, becomes empty.
func (c *valueCount) object(j a2a.JSON) *structpb.Struct {
	if len(j) == 0 {
		return nil
	}
	if s := c.value(j).GetStructValue(); s != nil {
		return s
	}
	return new(structpb.Struct)
}

// value converts any JSON value; absent becomes null, and so does a value beyond the
// limit.
func (c *valueCount) value(j a2a.JSON) *structpb.Value {
	if c.count(j); c.left < 0 {
		return structpb.NewNullValue()
	}
	return valuePB(j)
}

// valuePB converts any JSON value; an absent or invalid one becomes null.
func valuePB(j a2a.JSON) *structpb.Value {
	if flaw, _ := json.Check(j, json.Deepest); flaw != json.Sound && flaw != json.Encoding {
		return structpb.NewNullValue()
	}
	return readPB(json.Read(j))
}

func readPB(r *json.Reader) *structpb.Value {
	switch r.Peek() {
	case '{':
		fields := map[string]*structpb.Value{}
		for r.Enter(); r.More(); {
			name := string(r.Name())
			fields[name] = readPB(r)
		}
		return structpb.NewStructValue(&structpb.Struct{Fields: fields})
	case '[':
		list := []*structpb.Value{}
		for r.Enter(); r.More(); {
			list = append(list, readPB(r))
		}
		return structpb.NewListValue(&structpb.ListValue{Values: list})
	case '"':
		text, _ := json.Unquote(r.Skip())
		return structpb.NewStringValue(text)
	case 't', 'f':
		return structpb.NewBoolValue(r.Skip()[0] == 't')
	case 'n':
		r.Skip()
		return structpb.NewNullValue()
	}
	f, _ := strconv.ParseFloat(string(r.Skip()), 64) // ±Inf beyond the range
	return structpb.NewNumberValue(max(-math.MaxFloat64, min(math.MaxFloat64, f)))
}

// How deep a JSON value may nest. In a request it is in a part in a list in a message
// in the request: together they are as deep as JSON may be.
const (
	requestDepth = a2a.MaxDepth - 4
	resultDepth  = 1000
)

var (
	errNumber = errors.New("holds a number that JSON does not have: NaN or an infinity")
	errNoKind = errors.New("holds a value of no kind; null is null_value")
	errDepth  = errors.New("is nested too deeply")
)

// appendValue appends a value as JSON that nests at most depth levels, with the keys of
// objects sorted.
func appendValue(dst []byte, v *structpb.Value, depth int) ([]byte, error) {
	switch k := v.GetKind().(type) {
	case *structpb.Value_NullValue:
		return append(dst, "null"...), nil
	case *structpb.Value_BoolValue:
		return strconv.AppendBool(dst, k.BoolValue), nil
	case *structpb.Value_StringValue:
		return appendText(dst, k.StringValue), nil
	case *structpb.Value_NumberValue:
		b, err := stdjson.Marshal(k.NumberValue)
		if err != nil {
			return nil, errNumber
		}
		return append(dst, b...), nil
	case *structpb.Value_ListValue:
		if depth == 0 {
			return nil, errDepth
		}
		dst = append(dst, '[')
		for _, e := range k.ListValue.GetValues() {
			var err error
			if dst, err = appendValue(json.AppendComma(dst), e, depth-1); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case *structpb.Value_StructValue:
		return appendStruct(dst, k.StructValue, depth)
	}
	return nil, errNoKind
}

func appendStruct(dst []byte, s *structpb.Struct, depth int) ([]byte, error) {
	if depth == 0 {
		return nil, errDepth
	}
	dst = append(dst, '{')
	for _, k := range slices.Sorted(maps.Keys(s.GetFields())) {
		dst = append(appendText(json.AppendComma(dst), k), ':')
		var err error
		if dst, err = appendValue(dst, s.Fields[k], depth-1); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}
