/// What a download that did not finish left on the disk.
package struct PartialBody: Sendable, Equatable {
  /// Bytes that are there.
  package var offset: Int64
  /// Bytes of the whole; -1 where that is not known.
  package var total: Int64
  /// The ETag or Last-Modified that names the version they are of (RFC 9110 §13.1.5).
  package var validator: String
  /// Where the bytes came from, behind all redirects: the URL without its query. A validator says nothing of another resource
  /// (RFC 9110 §8.8.1). Nil if it is not known.
  package var resource: String?
  package init(offset: Int64, total: Int64, validator: String, resource: String? = nil) {
    self.offset = offset
    self.total = total
    self.validator = validator
    self.resource = resource
  }
}

/// Where a download goes on.
package struct DownloadPoint: Sendable, Equatable {
  package var partial: PartialBody
  /// The task whose bytes are on the disk.
  package var source: TaskID
  /// Who has written them; nil: they are under that task's name alone.
  package var blob: BlobStamp?
  package init(partial: PartialBody, source: TaskID, blob: BlobStamp? = nil) {
    self.partial = partial
    self.source = source
    self.blob = blob
  }
}

/// Where an upload goes on: its server keeps what has come.
package struct UploadPoint: Sendable, Equatable {
  /// URL of the upload resource (draft-ietf-httpbis-resumable-upload, "Upload Resource").
  package var resource: String
  /// The task that has the body.
  package var source: TaskID
  /// The draft's interop version that its server speaks; nil: 8, the only one that there was.
  package var version: Int?
  package init(resource: String, source: TaskID, version: Int? = nil) {
    self.resource = resource
    self.source = source
    self.version = version
  }
}

/// Where a task goes on: the content of resume data.
package enum ResumePoint: Sendable, Equatable {
  case download(DownloadPoint)
  case upload(UploadPoint)

  package init(partial: PartialBody, source: TaskID, blob: BlobStamp? = nil) {
    self = .download(DownloadPoint(partial: partial, source: source, blob: blob))
  }

  package var download: DownloadPoint? { if case .download(let point) = self { point } else { nil } }
  package var upload: UploadPoint? { if case .upload(let point) = self { point } else { nil } }
}
