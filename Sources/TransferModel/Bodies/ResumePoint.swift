package import JSON

/// What a download that did not finish left on the disk.
package struct PartialBody: Sendable, Equatable, Codable {
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
package struct DownloadPoint: Sendable, Equatable, Codable {
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
package struct UploadPoint: Sendable, Equatable, Codable {
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

extension ResumePoint: Codable {
  private enum Key: CodingKey { case upload }

  /// A download's members stand alone, as they did when there was nothing else.
  package init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    if let point = try members.decodeIfPresent(UploadPoint.self, forKey: .upload) {
      self = .upload(point)
    } else {
      self = .download(try DownloadPoint(from: decoder))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    switch self {
    case .download(let point): try point.encode(to: encoder)
    case .upload(let point):
      var members = encoder.container(keyedBy: Key.self)
      try members.encode(point, forKey: .upload)
    }
  }
}

extension ResumePoint: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      switch self {
      case .download(let point):
        writer.field("source", point.source)
        writer.field("offset", point.partial.offset)
        writer.field("total", point.partial.total)
        writer.field("validator", point.partial.validator)
        if let resource = point.partial.resource { writer.field("resource", resource) }
        if let blob = point.blob { writer.field("blob", blob.description) }
      case .upload(let point):
        writer.field("source", point.source)
        writer.field("upload", point.resource)
        if let version = point.version { writer.field("version", version) }
      }
    }
  }

  package init?(json: JSONValue?) {
    guard let source = json?["source"]?.string.flatMap({ TaskID($0) }) else { return nil }
    if let resource = json?["upload"]?.string {
      self = .upload(
        UploadPoint(resource: resource, source: source, version: json?["version"]?.integer.map { Int($0) }))
      return
    }
    guard let offset = json?["offset"]?.integer, let validator = json?["validator"]?.string else {
      return nil
    }
    let partial = PartialBody(
      offset: offset, total: json?["total"]?.integer ?? -1, validator: validator,
      resource: json?["resource"]?.string)
    self.init(partial: partial, source: source, blob: json?["blob"]?.string.flatMap { BlobStamp($0) })
  }
}
