package import JSON

/// What a download that did not finish left on the disk.
package struct PartialBody: Sendable, Equatable, Codable {
  /// Bytes that are there.
  package var offset: Int64
  /// Bytes of the whole; -1 where that is not known.
  package var total: Int64
  /// The ETag or Last-Modified that names the version they are of (RFC 9110 §13.1.5).
  package var validator: String
  package init(offset: Int64, total: Int64, validator: String) {
    self.offset = offset
    self.total = total
    self.validator = validator
  }
}

/// Where a download goes on: the content of resume data.
package struct ResumePoint: Sendable, Equatable, Codable {
  package var partial: PartialBody
  /// The task whose bytes are on the disk.
  package var source: TaskID
  package init(partial: PartialBody, source: TaskID) {
    self.partial = partial
    self.source = source
  }
}

extension ResumePoint: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("source", source)
      writer.field("offset", partial.offset)
      writer.field("total", partial.total)
      writer.field("validator", partial.validator)
    }
  }

  package init?(json: JSONValue?) {
    guard let source = json?["source"]?.string.flatMap({ TaskID($0) }), let offset = json?["offset"]?.integer,
      let validator = json?["validator"]?.string
    else { return nil }
    self.init(
      partial: PartialBody(offset: offset, total: json?["total"]?.integer ?? -1, validator: validator),
      source: source)
  }
}
