package import Crypto
internal import HTTPFields
internal import JSON
internal import KeyDerivation
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
    let document = ResumeDocument(request: request, point: point, tenant: tenant)
    guard let key = keys.first, let sealed = try? AES.GCM.seal(document.bytes, using: key).combined else {
      return nil
    }
    return Base64.encodeForURL(Array(sealed))
  }

  /// Nil where the text is not resume data of this service and that tenant. What says nothing of a tenant is `default`'s.
  package func open(_ text: String, of tenant: Tenant) -> (request: TransferRequest, point: ResumePoint)? {
    guard let bytes = Base64.decodeForURL(text), let box = try? AES.GCM.SealedBox(combined: bytes),
      let opened = keys.lazy.compactMap({ try? AES.GCM.open(box, using: $0) }).first,
      let document = ResumeDocument(bytes: Array(opened)), document.tenant == tenant
    else { return nil }
    return (document.request, document.point)
  }
}

/// What is sealed in resume data.
struct ResumeDocument: Equatable {
  private static let version = 1

  var request: TransferRequest
  var point: ResumePoint
  var tenant: Tenant

  init(request: TransferRequest, point: ResumePoint, tenant: Tenant) {
    self.request = request
    self.point = point
    self.tenant = tenant
  }

  var bytes: [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.field("version", Self.version)
      writer.field("tenant", tenant.name)
      writer.field("url", request.url)
      writer.arrayField("headers", request.headers.fields) { writer, field in
        writer.array { writer in
          writer.element()
          writer.value(field.name)
          writer.element()
          writer.value(field.value)
        }
      }
      writer.field("timeoutInterval", request.timeoutInterval ?? 0)
      request.encodeLoading(into: &writer)
      if case .password(let user, let password) = request.credential?.kind {
        writer.field("user", user)
        writer.field("password", password)
      }
      if point.upload != nil { writer.field("method", request.method) }
      if case .file(let file, let size) = request.body {
        writer.field("file", file)
        writer.field("size", size)
      }
      writer.field("point", Optional(point))
    }
    return writer.bytes
  }

  /// Nil where that is not what `bytes` gave.
  init?(bytes: [UInt8]) {
    guard let json = try? JSONParser.parse(bytes), json["version"]?.integer == Int64(Self.version),
      let url = json["url"]?.string, let point = ResumePoint(json: json["point"])
    else { return nil }
    var headers = HTTPHeaders()
    for field in json["headers"]?.elements ?? [] {
      guard let pair = field.elements, pair.count == 2, let name = pair[0].string, let value = pair[1].string
      else { return nil }
      headers.append(name, value)
    }
    let timeout = json["timeoutInterval"]?.double ?? 0
    var request = TransferRequest(url: url, headers: headers, timeoutInterval: timeout > 0 ? timeout : nil)
    var loading = ObjectReader(json, at: "", Violations())
    request.readLoading(&loading)
    if let user = json["user"]?.string, let password = json["password"]?.string {
      request.credential = Credential(user: user, password: password)
    }
    if point.upload != nil { request.method = json["method"]?.string ?? request.method }
    if let file = json["file"]?.string.flatMap({ FileID($0) }), let size = json["size"]?.integer {
      request.body = .file(file, size: size)
    }
    self.init(
      request: request, point: point, tenant: json["tenant"]?.string.map { Tenant(name: $0) } ?? .default)
  }
}
