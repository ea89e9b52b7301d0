internal import HTTPFields
internal import JSON
internal import TransferModel

extension TransferRequest {
  func encodeStored(_ name: StaticString, into writer: inout JSONWriter) {
    writer.objectField(name) { writer in
      writer.field("url", url)
      if case .password(let user, let password) = credential?.kind {
        writer.field("user", user)
        writer.field("password", password)
      }
      writer.field("method", method)
      writer.field("headers", Optional(headers))
      if let names = secretHeaderFields {
        writer.arrayField("secretHeaderFields", names) { $0.value($1) }
      }
      if let timeoutInterval { writer.field("timeoutInterval", timeoutInterval) }
      if let body = body?.spooled {
        // Its key is where the bytes of others are.
        writer.objectField("body") { writer in
          writer.field("size", body.size)
          writer.field("blob", body.blob.description)
        }
      } else if let body {
        writer.field("body", Optional(body))
      }
      encodeLoading(into: &writer)
    }
  }

  /// - Parameter data: the bytes, or the key of the file that has them: they have a column of their own.
  init(stored: inout StoredObject, body data: [UInt8]?) throws(StoredObject.Fault) {
    var body: RequestContent?
    if var fields = try stored.objectIfAny("body") {
      body = try RequestContent(stored: &fields, data)
      try fields.finish()
    }
    self.init(
      url: try stored.string("url"), method: try stored.string("method"),
      headers: try HTTPHeaders("headers", of: &stored), body: body,
      timeoutInterval: try stored.numberIfAny("timeoutInterval"))
    secretHeaderFields = try stored.stringsIfAny("secretHeaderFields")
    cachePolicy = try stored.choiceIfAny("cachePolicy")
    httpShouldHandleCookies = try stored.boolIfAny("httpShouldHandleCookies") ?? true
    mainDocumentURL = try stored.stringIfAny("mainDocumentURL")
    networkAccess = try NetworkAccess(stored: &stored)
    networkServiceType = try stored.choiceIfAny("networkServiceType")
    let (user, password) = (try stored.stringIfAny("user"), try stored.stringIfAny("password"))
    if let user, let password {
      credential = Credential(user: user, password: password)
    } else if user != nil || password != nil {
      throw stored.fault(user == nil ? "user" : "password", "is missing")
    }
    try stored.finish()
  }
}

extension RequestContent {
  fileprivate init(stored: inout StoredObject, _ data: [UInt8]?) throws(StoredObject.Fault) {
    let size = try stored.integerIfAny("size")
    let blob = try stored.stampIfAny("blob")
    if try stored.boolIfAny("stream") == true {
      self = .stream
    } else if let file = try stored.idIfAny("file", of: FileID.self) {
      guard let size else { throw stored.fault("size", "is missing") }
      self = .file(file, size: size)
    } else if let size, let blob {
      // The key of a session that is over is gone, as the file is.
      self = .spooled(SpooledBody(size: size, blob: blob, key: data ?? []))
    } else if size != nil {
      // The bytes of a session that is over are gone.
      self = .data(data ?? [])
    } else {
      throw stored.fault("size", "is missing")
    }
  }
}

extension TransferResponse {
  init(stored: inout StoredObject) throws(StoredObject.Fault) {
    self.init(
      url: try stored.string("url"), status: Int(try stored.integer("status")),
      headers: try HTTPHeaders("headers", of: &stored),
      expectedContentLength: try stored.integerIfAny("expectedContentLength") ?? -1,
      httpVersion: try stored.stringIfAny("httpVersion") ?? "")
    fromCache = try stored.boolIfAny("fromCache") ?? false
    stored.skip("mimeType", "textEncodingName", "suggestedFilename")
    try stored.finish()
  }
}

extension TransferError {
  init(stored: inout StoredObject) throws(StoredObject.Fault) {
    let (domain, code) = (try stored.string("domain"), Int(try stored.integer("code")))
    switch domain {
    case "FerryErrorDomain":
      guard let code = FerryErrorCode(rawValue: code) else {
        throw stored.fault("code", "is \(code), which is not known")
      }
      self.init(code, "")
    case "NSURLErrorDomain":
      guard let code = URLErrorCode(rawValue: code) else {
        throw stored.fault("code", "is \(code), which is not known")
      }
      self.init(code, "")
    default: throw stored.fault("domain", "is '\(domain)', which is not known")
    }
    message = try stored.stringIfAny("message") ?? ""
    failingURL = try stored.stringIfAny("failingURL")
    rule = try stored.stringIfAny("rule")
    networkUnavailableReason = try stored.stringIfAny("networkUnavailableReason")
    status = try stored.countIfAny("status")
    resumeDataAvailable = try stored.boolIfAny("resumeDataAvailable") ?? false
    if var fields = try stored.objectIfAny("underlying") {
      underlying = Underlying(library: try fields.string("library"), code: Int(try fields.integer("code")))
      try fields.finish()
    }
    stored.skip("name")
    try stored.finish()
  }
}

extension StoredObject {
  /// Who has written a blob.
  mutating func stampIfAny(_ name: String) throws(Fault) -> BlobStamp? {
    guard let text = try stringIfAny(name) else { return nil }
    guard let stamp = BlobStamp(text) else { throw fault(name, "is no stamp of a blob") }
    return stamp
  }

  mutating func resumePointIfAny(_ name: String) throws(Fault) -> ResumePoint? {
    guard var fields = try objectIfAny(name) else { return nil }
    if let resource = try fields.stringIfAny("upload") {
      let version = try fields.integerIfAny("version").map { Int($0) }
      let point = UploadPoint(resource: resource, source: try fields.id("source"), version: version)
      try fields.finish()
      return .upload(point)
    }
    let partial = PartialBody(
      offset: try fields.integer("offset"), total: try fields.integerIfAny("total") ?? -1,
      validator: try fields.string("validator"), resource: try fields.stringIfAny("resource"))
    let point = ResumePoint(
      partial: partial, source: try fields.id("source"), blob: try fields.stampIfAny("blob"))
    try fields.finish()
    return point
  }
}
