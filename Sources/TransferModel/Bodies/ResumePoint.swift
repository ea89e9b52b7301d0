/// The bytes of an unfinished download on disk.
package struct PartialBody: Sendable, Equatable {
  /// The number of bytes on disk.
  package var offset: Int64
  /// The size of the whole body in bytes; -1 if unknown.
  package var total: Int64
  /// The ETag or Last-Modified of the version that the bytes belong to (RFC 9110 §13.1.5).
  package var validator: String
  /// The URL after all redirects, without its query, that the bytes came from. A validator is meaningless for another resource (RFC 9110
  /// §8.8.1). `nil` if unknown.
  package var resource: String?
  package init(offset: Int64, total: Int64, validator: String, resource: String? = nil) {
    self.offset = offset
    self.total = total
    self.validator = validator
    self.resource = resource
  }
}

/// The point from which a download resumes.
package struct DownloadPoint: Sendable, Equatable {
  package var partial: PartialBody
  /// The task whose bytes are on disk.
  package var source: TaskID
  /// The writer of the bytes; `nil` if the file's name is that task's id alone.
  package var blob: BlobStamp?
  package init(partial: PartialBody, source: TaskID, blob: BlobStamp? = nil) {
    self.partial = partial
    self.source = source
    self.blob = blob
  }
}

/// The point from which an upload resumes: the server keeps the bytes that it has received.
package struct UploadPoint: Sendable, Equatable {
  /// URL of the upload resource (draft-ietf-httpbis-resumable-upload, "Upload Resource").
  package var resource: String
  /// The task that has the body.
  package var source: TaskID
  /// The draft's interop version that the server uses. `nil` means 8, which was once the only one.
  package var version: Int?
  package init(resource: String, source: TaskID, version: Int? = nil) {
    self.resource = resource
    self.source = source
    self.version = version
  }
}

/// The point from which a task resumes: the content of resume data.
package enum ResumePoint: Sendable, Equatable {
  case download(DownloadPoint)
  case upload(UploadPoint)

  package init(partial: PartialBody, source: TaskID, blob: BlobStamp? = nil) {
    self = .download(DownloadPoint(partial: partial, source: source, blob: blob))
  }

  package var download: DownloadPoint? { if case .download(let point) = self { point } else { nil } }
  package var upload: UploadPoint? { if case .upload(let point) = self { point } else { nil } }
}
