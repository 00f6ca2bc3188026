package dialect

import (
	"strings"

	"github.com/parley-a2a/parley/internal/pb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// GRPCFiles describes the service under its official names, for reflection:
// our own file with the package of the specification, and without what the
// specification does not have. It is in no global registry.
func GRPCFiles() (*protoregistry.Files, error) {
	const official = "lf.a2a.v1"
	fd := proto.CloneOf(protodesc.ToFileDescriptorProto(pb.File_internal_pb_a2a_proto))
	own := "." + fd.GetPackage() + "."
	fd.Name, fd.Package = proto.String("a2a.proto"), proto.String(official)
	fd.Options = nil
	rename := func(name *string) {
		if name == nil {
			return
		}
		if rest, ok := strings.CutPrefix(*name, own); ok {
			*name = "." + official + "." + rest
		}
	}
	for _, m := range fd.MessageType {
		renameFields(m, rename)
	}
	for _, s := range fd.Service {
		for _, m := range s.Method {
			rename(m.InputType)
			rename(m.OutputType)
		}
	}
	file, err := protodesc.NewFile(fd, protoregistry.GlobalFiles)
	if err != nil {
		return nil, err
	}
	files := new(protoregistry.Files)
	if err := files.RegisterFile(file); err != nil {
		return nil, err
	}
	// What it imports must be found, too.
	for i := range file.Imports().Len() {
		if err := files.RegisterFile(file.Imports().Get(i).FileDescriptor); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func renameFields(m *descriptorpb.DescriptorProto, rename func(*string)) {
	fields := m.Field[:0]
	for _, f := range m.Field {
		if protoreflect.FieldNumber(f.GetNumber()) == seqField {
			continue
		}
		rename(f.TypeName)
		fields = append(fields, f)
	}
	m.Field = fields
	for _, inner := range m.NestedType { // entries of maps
		renameFields(inner, rename)
	}
}

// seqField is the number of StreamResponse.seq, which is ours.
const seqField = 1000
