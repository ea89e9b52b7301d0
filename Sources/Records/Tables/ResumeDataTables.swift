internal import Limits
package import TransferModel

/// The resume point of an upload has the member `upload`; that of a download does not.
extension ResumePoint: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    let (download, upload) = (value?.download, value?.upload)
    let source: TaskID = try coder.required("source", download?.source ?? upload?.source)
    if let resource = try coder.optional("upload", upload?.resource) {
      return .upload(
        UploadPoint(
          resource: resource, source: source, version: try coder.optional("version", upload?.version)))
    }
    let partial = download?.partial
    return .download(
      DownloadPoint(
        partial: PartialBody(
          offset: try coder.required("offset", partial?.offset),
          total: try coder.member("total", partial?.total, else: -1),
          validator: try coder.required("validator", partial?.validator),
          resource: try coder.optional("resource", partial?.resource)), source: source,
        blob: try coder.optional("blob", download?.blob)))
  }
}

/// The content of resume data: the request, and the point at which to resume it.
package struct ResumeData: Sendable, Equatable {
  package var request: TransferRequest
  package var point: ResumePoint
  /// The tenant that may use the resume data.
  package var tenant: Tenant

  package init(request: TransferRequest, point: ResumePoint, tenant: Tenant) {
    self.request = request
    self.point = point
    self.tenant = tenant
  }
}

extension DocumentKind {
  /// Resume data, which clients keep and send. The limit is about `batchBytes / batchLines`, so that a full batch of resume data
  /// decompresses to about the size of the largest batch.
  package static let resumeData = DocumentKind(
    "resume data", compressionLimit: Limits.compressedResumeDataBytes.value, isShown: true)
}

extension ResumeData: Record {
  package static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    ResumeData(
      request: try coder.required("request", value?.request),
      point: try coder.required("point", value?.point),
      tenant: Tenant(name: try coder.required("tenant", value?.tenant.name)))
  }
}
