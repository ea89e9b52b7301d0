package import Crypto
internal import KeyDerivation
internal import Records
package import TransferModel

/// Seals and opens resume data (NSURLSessionDownloadTaskResumeData, NSURLSessionUploadTaskResumeData): what to ask for and where the bytes lie,
/// encrypted and authenticated with the service's key (AES-GCM), so that a client can keep it anywhere and nobody can
/// read or forge it.
package struct ResumeDataSealer: Sendable {
  private let keys: [SymmetricKey]

  /// - Parameter secrets: the service's secrets, from which the keys are derived: the first seals, all of them open.
  package init(secrets: [SymmetricKey]) {
    keys = secrets.map { $0.derived(for: "ferry resume data 1") }
  }

  /// base64url, without padding.
  func seal(_ request: TransferRequest, _ point: ResumePoint, of tenant: Tenant) -> String? {
    let data = ResumeData(request: Self.kept(of: request, point), point: point, tenant: tenant)
    guard let key = keys.first,
      let sealed = try? AES.GCM.seal(Document.write(data), using: key).combined
    else { return nil }
    return Base64.encodeForURL(Array(sealed))
  }

  /// A download is asked for again with GET. The bytes of an upload stay with the task that the point names.
  private static func kept(of request: TransferRequest, _ point: ResumePoint) -> TransferRequest {
    var kept = request
    if point.upload == nil { kept.method = "GET" }
    if kept.body?.file == nil { kept.body = nil }
    if case .certificate = kept.credential?.kind { kept.credential = nil }
    kept.secretHeaderFields = nil
    return kept
  }

  /// Nil where the text is not resume data of this service and that tenant.
  package func open(_ text: String, of tenant: Tenant) -> (request: TransferRequest, point: ResumePoint)? {
    guard let bytes = Base64.decodeForURL(text), let box = try? AES.GCM.SealedBox(combined: bytes),
      let opened = keys.lazy.compactMap({ try? AES.GCM.open(box, using: $0) }).first,
      let data = try? Document.read(ResumeData.self, Array(opened)), data.tenant == tenant
    else { return nil }
    return (data.request, data.point)
  }
}
