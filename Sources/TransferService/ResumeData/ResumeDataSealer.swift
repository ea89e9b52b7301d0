internal import Records
internal import TransferModel

/// Seals and opens resume data (NSURLSessionDownloadTaskResumeData, NSURLSessionUploadTaskResumeData): a request and a resume
/// point. Clients may store the text anywhere. Only this service can read it, and it accepts the text only from the same tenant.
struct ResumeDataSealer: Sendable {
  let box: SecretBox

  /// Returns base64url without padding.
  func seal(_ request: TransferRequest, _ point: ResumePoint, of tenant: Tenant) -> String {
    let data = ResumeData(request: Self.kept(of: request, point), point: point, tenant: tenant)
    return Base64.encodeForURL(box.seal(Document.write(data), as: .resumeData))
  }

  /// The part of a request that resuming needs. A download is requested again with GET. The bytes of an upload stay with the task
  /// that the point names.
  private static func kept(of request: TransferRequest, _ point: ResumePoint) -> TransferRequest {
    var kept = request
    if point.upload == nil { kept.method = "GET" }
    if kept.body?.file == nil { kept.body = nil }
    if case .certificate = kept.credential?.kind { kept.credential = nil }
    kept.secretHeaderFields = nil
    return kept
  }

  /// - Returns: `nil` if the text is not resume data of this service and that tenant.
  func open(_ text: String, of tenant: Tenant) -> (request: TransferRequest, point: ResumePoint)? {
    guard let bytes = Base64.decodeForURL(text), let document = try? box.open(bytes, as: .resumeData),
      let data = try? Document.read(ResumeData.self, document), data.tenant == tenant
    else { return nil }
    return (data.request, data.point)
  }
}
