package dialect

import (
	"strings"

	"github.com/parley-a2a/parley/internal/pb"
	"github.com/parley-a2a/parley/internal/pb/v03"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// GRPCFile returns the name of the file that describes a dialect's service.
func GRPCFile(d Dialect) string {
	if d == V03 {
		return "a2a/v1/a2a.proto"
	}
	return "a2a.proto"
}

// GRPCFiles describes the services under their official names, for reflection: our own
// files with the packages of the specification, and without our additions. They are in
// no global registry.
func GRPCFiles() (*protoregistry.Files, error) {
	files := new(protoregistry.Files)
	for d, own := range map[Dialect]protoreflect.FileDescriptor{V10: pb.File_internal_pb_a2a_proto, V03: v03.File_internal_pb_v03_a2a_proto} {
		file, err := officialFile(own, GRPCFile(d), strings.TrimSuffix(GRPCOf(d).Service(), ".A2AService"))
		if err != nil {
			return nil, err
		}
		if err := files.RegisterFile(file); err != nil {
			return nil, err
		}
		// Its imports must be found, too.
		for i := range file.Imports().Len() {
			in := file.Imports().Get(i).FileDescriptor
			if _, err := files.FindFileByPath(in.Path()); err == nil {
				continue
			}
			if err := files.RegisterFile(in); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

// officialFile gives a file and its package their official names, and removes our
// additions.
func officialFile(from protoreflect.FileDescriptor, path, official string) (protoreflect.FileDescriptor, error) {
	fd := proto.CloneOf(protodesc.ToFileDescriptorProto(from))
	own := "." + fd.GetPackage() + "."
	fd.Name, fd.Package = proto.String(path), proto.String(official)
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
	return protodesc.NewFile(fd, protoregistry.GlobalFiles)
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

// seqField is the number of StreamResponse.seq, our addition.
const seqField = 1000
