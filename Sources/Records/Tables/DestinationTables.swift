package import TransferModel

extension Destination: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    Destination(
      file: try coder.required("file", value?.file),
      ifExists: try coder.member("ifExists", value?.ifExists, else: .fail))
  }
}

extension Destination.ExistingFile: RecordValue {}

/// The inode is stored as a signed integer of the same bits.
extension FileMark: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    let inode = try coder.required("inode", value.map { Int64(bitPattern: $0.inode) })
    return FileMark(
      inode: UInt64(bitPattern: inode), size: try coder.required("size", value?.size),
      modifiedAt: try coder.required("modifiedAt", value?.modifiedAt))
  }
}

extension PlacedFile: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    PlacedFile(
      file: try coder.required("file", value?.file), mark: try coder.required("mark", value?.mark))
  }
}

extension PendingPlacement: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    PendingPlacement(
      outcome: try coder.required("outcome", value?.outcome), mark: try coder.optional("mark", value?.mark))
  }
}
