internal import HTTPFields
package import JSON

/// A file that a client stored for uploads, or kept from a finished download.
package struct StoredFile: Sendable, Equatable {
  package let id: FileID
  /// The owner. Not shown to clients.
  package let tenant: Tenant
  package let createdAt: Timestamp
  package let size: Int64
  /// Lower-case hexadecimal.
  package let sha256: String
  package let contentType: String?
  /// The download that the file came from.
  package let fromTask: TaskID?

  package init(
    id: FileID, tenant: Tenant, createdAt: Timestamp, size: Int64, sha256: String, contentType: String?,
    fromTask: TaskID?
  ) {
    self.id = id
    self.tenant = tenant
    self.createdAt = createdAt
    self.size = size
    self.sha256 = sha256
    self.contentType = contentType
    self.fromTask = fromTask
  }

  /// The Content-Type of an upload of the file: `application/octet-stream` if the stored type is missing or cannot be sent.
  package var typeAsBody: String {
    guard let contentType, !contentType.isEmpty, HTTPHeaders.isValid(value: contentType) else {
      return "application/octet-stream"
    }
    return contentType
  }
}

extension StoredFile: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("id", id)
      writer.field("size", size)
      writer.field("sha256", sha256)
      writer.field("contentType", contentType)
      writer.field("fromTask", fromTask)
      writer.field("createdAt", createdAt)
    }
  }
}
