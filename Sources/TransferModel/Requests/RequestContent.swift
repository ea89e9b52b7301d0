package import JSON

/// The body of a request: URLRequest.httpBody, an upload's file, or httpBodyStream.
package enum RequestContent: Sendable, Equatable {
  case data([UInt8])
  /// The same for a large body, in an encrypted file.
  case spooled(SpooledBody)
  /// A stored file, with its size when the task was created.
  case file(FileID, size: Int64)
  /// A body that the client sends with `PUT /v1/tasks/{id}/body` when the task requests it.
  case stream

  /// Bytes; -1 if unknown (NSURLSessionTransferSizeUnknown).
  package var length: Int64 {
    switch self {
    case .data(let bytes): Int64(bytes.count)
    case .spooled(let body): body.size
    case .file(_, let size): size
    case .stream: -1
    }
  }

  package var data: [UInt8]? { if case .data(let bytes) = self { bytes } else { nil } }
  package var file: FileID? { if case .file(let id, _) = self { id } else { nil } }
  package var spooled: SpooledBody? { if case .spooled(let body) = self { body } else { nil } }
  /// Whether the body is read from a file when it is sent.
  package var isInFile: Bool { file != nil || spooled != nil }
  /// Whether the body came with the request that created the task.
  package var isInRequest: Bool { data != nil || spooled != nil }
  package var isStream: Bool { self == .stream }
}

extension RequestContent {
  /// Deletes the bytes that came with the request, or their key.
  mutating func forget() {
    switch self {
    case .data: self = .data([])
    case .spooled(let body): self = .spooled(SpooledBody(size: body.size, blob: body.blob, key: []))
    case .file, .stream: break
    }
  }
}

extension RequestContent: JSONEncodable {
  /// Writes the content as clients see it: the size instead of the bytes.
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      switch self {
      case .data(let bytes): writer.field("size", bytes.count)
      case .spooled(let body): writer.field("size", body.size)
      case .file(let id, let size):
        writer.field("file", id)
        writer.field("size", size)
      case .stream: writer.field("stream", true)
      }
    }
  }
}
